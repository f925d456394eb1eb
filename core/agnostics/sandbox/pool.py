"""The pool: warm slots for as many languages as there is work in, and one thread that speaks with all of them.

Slots start, change their limits and close on a small executor, so that the thread never waits for one. A slot that
dies, falls silent or reports an error of its own is replaced, and its job is run elsewhere once more.
"""

from __future__ import annotations

import atexit
import logging
import os
import selectors
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from agnostics.sandbox.backend import Backend, Slot
from agnostics.sandbox.backpressure import Room
from agnostics.sandbox.protocol import Answer, Job, decode
from agnostics.sandbox.timeout_retry import Suspects, is_suspect
from agnostics.sandbox.worker import Ticket, Worker
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language

log = logging.getLogger("agnostics")

ATTEMPTS = 2
"""How often a job is begun before the sandbox gives up on it."""
STARTS = 6
"""How often in a row a slot may fail to start before the work that waits for it is given up."""
FIRST_PAUSE_S = 0.25
"""The pause after a first failed start; it doubles with each, so that a restarted engine is waited for (8 s in all)."""
QUEUE_PER_SLOT = 64
REST_S = 0.01
"""How long the pool's thread leaves the processors alone while every slot has more than that to do."""
PATIENCE_S = 1.0
"""How long work in a language without a slot waits before a slot of another language makes way."""


def available_cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Pool:
    """Runs jobs in slots of one isolation mode. A context manager; `close` ends everything in it."""

    def __init__(self, backend: Backend, slots: int | None = None) -> None:
        self._backend = backend
        self.size = slots or available_cores()
        self._room = Room(QUEUE_PER_SLOT * self.size)
        self._inbox: deque[Callable[[], None]] = deque()
        self._waiting: defaultdict[str, deque[Ticket]] = defaultdict(deque)
        self._waiting_since: dict[str, float] = {}
        self._suspects = Suspects()
        self._workers: list[Worker] = []
        self._starting: defaultdict[str, int] = defaultdict(int)
        self._failures: defaultdict[str, int] = defaultdict(int)
        self._retry_at: dict[str, float] = {}
        self._closing = 0
        self._closed = False
        self._door = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._rung = False
        self._bell, self._ringer = socket.socketpair()
        self._bell.setblocking(False)
        self._ringer.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._executor = ThreadPoolExecutor(min(self.size, 8), thread_name_prefix="agnostics-slots")
        self._thread = threading.Thread(target=self._run, name="agnostics-pool", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def mode(self) -> str:
        """The isolation mode in use."""
        return self._backend.mode

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def submit(self, language: Language, job: Job) -> Future[Answer]:
        """Queue a job; waits while the queue is full. Raises AgnosticsError once the pool is closed."""
        ticket = Ticket(language, job, Future())
        while not self._room.enter(timeout_s=1):
            self._refuse_if_closed()
        ticket.future.add_done_callback(lambda _: self._room.leave())
        self._post(lambda: self._enqueue(ticket))
        return ticket.future

    def submit_now(self, language: Language, job: Job) -> Future[Answer]:
        """Queue a job that follows from one just done, from any thread, and never wait."""
        ticket = Ticket(language, job, Future())
        self._post(lambda: self._enqueue(ticket))
        return ticket.future

    def close(self) -> None:
        """End every slot and fail what is unfinished. Safe to call twice."""
        with self._door:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self.close)
        self._ring()
        self._thread.join(timeout=60)
        self._executor.shutdown(wait=True)
        self._backend.close()
        for end in (self._bell, self._ringer):
            end.close()

    # What follows runs on the pool's thread, but for _post.

    def _post(self, act: Callable[[], None]) -> None:
        """Have the thread do something."""
        with self._door:
            self._refuse_if_closed()
            self._inbox.append(act)
        self._ring()

    def _ring(self) -> None:
        if not self._rung:
            self._rung = True
            with suppress(OSError):
                self._ringer.send(b"\0")

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise AgnosticsError("the sandbox is closed")

    def _run(self) -> None:
        while not self._closed:
            if self._may_rest():
                time.sleep(REST_S)
            for key, events in self._selector.select(self._pause_s()):
                self._serve(key.data, events)
            while self._inbox:
                self._inbox.popleft()()
            self._replace_silent()
            self._schedule()
        self._end()

    def _may_rest(self) -> bool:
        """Whether every slot has work for a while: then several answers are taken at one go."""
        return bool(self._workers) and min(worker.busy_s for worker in self._workers) >= 2 * REST_S

    def _pause_s(self) -> float:
        now = time.monotonic()
        deadlines = [worker.deadline for worker in self._workers]
        deadlines += self._retry_at.values()
        if self._suspects.due > now:  # afterwards it is the answers still to come that it waits for
            deadlines.append(self._suspects.due)
        deadlines += [since + PATIENCE_S for key, since in self._waiting_since.items() if not self._count(key)]
        return min(max(0.01, min(deadlines, default=now + 60) - now), 60)

    def _serve(self, worker: Worker | None, events: int) -> None:
        if worker is None:
            self._bell.recv(4096)
            self._rung = False
            return
        try:
            if events & selectors.EVENT_WRITE:
                worker.send()
            for body in worker.receive() if events & selectors.EVENT_READ else ():
                self._answered(worker, decode(body))
        except (OSError, IndexError, ValueError) as error:
            self._lost(worker, str(error))
        else:
            self._watch(worker)

    def _answered(self, worker: Worker, answer: Answer) -> None:
        ticket = worker.take_first()
        ticket.attempts += 1
        if answer.error is None:
            self._failures.pop(worker.key, None)
            if not ticket.alone and is_suspect(ticket.job, answer):
                self._suspects.add(ticket)
                return
            answer = replace(answer, attempts=ticket.attempts, unenforced=worker.slot.unenforced, sandbox=self.mode)
            ticket.future.set_result(answer)
            return
        worker.leaving = True
        self._again_or_give_up(ticket, answer.error)

    def _again_or_give_up(self, ticket: Ticket, error: str) -> None:
        if ticket.attempts < ATTEMPTS + ticket.alone:
            self._enqueue(ticket, first=True)
        else:
            ticket.future.set_result(Answer(error=error, attempts=ticket.attempts))

    def _enqueue(self, ticket: Ticket, *, first: bool = False) -> None:
        queue = self._waiting[ticket.key]
        if not queue:
            self._waiting_since[ticket.key] = time.monotonic()
        queue.appendleft(ticket) if first else queue.append(ticket)

    def _lost(self, worker: Worker, reason: str) -> None:
        """Give up a slot; the job that it was doing is tried once more, the one behind it had not begun."""
        self._discard(worker)
        tickets = list(worker.tickets)
        worker.tickets.clear()
        for ticket in reversed(tickets[1:]):
            self._enqueue(ticket, first=True)
        if tickets:
            tickets[0].attempts += 1
            self._again_or_give_up(tickets[0], reason)

    def _discard(self, worker: Worker) -> None:
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        with suppress(KeyError, ValueError):
            self._selector.unregister(worker.slot.connection)
        if worker.key in self._waiting_since:
            self._waiting_since[worker.key] = time.monotonic()
        self._closing += 1
        self._background(worker.slot.close, self._gone)

    def _gone(self, _: Any, error: BaseException | None) -> None:
        self._closing -= 1
        if error:
            log.warning("a slot did not close cleanly: %s", error)

    def _replace_silent(self) -> None:
        now = time.monotonic()
        for worker in [w for w in self._workers if w.deadline < now]:
            self._lost(worker, "the harness did not answer in time")

    def _schedule(self) -> None:
        for worker in [w for w in self._workers if w.idle and (w.leaving or w.worn)]:
            self._discard(worker)
        for key in self._servable():
            self._feed(key)
            if self._waiting[key]:
                self._grow(key)
        for key in [key for key, queue in self._waiting.items() if not queue]:
            del self._waiting[key]
            self._waiting_since.pop(key, None)
            self._retry_at.pop(key, None)

    def _servable(self) -> list[str]:
        """The languages whose work may begin now, those without a slot first; none but a suspect's in its turn."""
        if suspect := self._suspects.running:
            return [suspect.key]
        if self._suspects.tickets and (self._suspects.due < time.monotonic() or not any(self._waiting.values())):
            if not all(worker.idle for worker in self._workers):
                return []
            suspect = self._suspects.take_first()
            self._enqueue(suspect, first=True)
            return [suspect.key]
        return sorted(self._waiting, key=lambda key: (self._count(key) > 0, self._waiting_since[key]))

    def _feed(self, key: str) -> None:
        """Hand out waiting tickets, one to each slot before any gets a second."""
        queue = self._waiting[key]
        while queue:
            workers = [w for w in self._workers if w.key == key and w.has_room]
            worker = min(workers, key=lambda w: len(w.tickets), default=None)
            if worker is None or (worker.tickets and len(queue) <= len(worker.tickets) * self._count(key)):
                return
            if self._suspects.running not in {None, queue[0]}:
                return
            if worker.limits != queue[0].limits:
                if worker.idle:
                    self._adjust(worker, queue[0].limits)
                    continue
                return
            self._give(worker, queue.popleft())

    def _give(self, worker: Worker, ticket: Ticket) -> None:
        try:
            worker.give(ticket)
        except OSError as error:
            self._lost(worker, str(error))
        else:
            self._watch(worker)

    def _watch(self, worker: Worker) -> None:
        if worker not in self._workers:
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.sending else 0)
        if self._selector.get_key(worker.slot.connection).events != wanted:
            self._selector.modify(worker.slot.connection, wanted, worker)

    def _adjust(self, worker: Worker, limits: tuple[int, int]) -> None:
        def done(_: Any, error: BaseException | None) -> None:
            worker.adjusting = False
            worker.limits = limits
            if error:
                self._lost(worker, str(error))
                self._failed_to_start(worker.key, error)

        worker.adjusting = True
        self._background(lambda: worker.slot.set_limits(*limits), done)

    def _count(self, key: str) -> int:
        return sum(w.key == key for w in self._workers) + self._starting[key]

    def _grow(self, key: str) -> None:
        """Start slots for waiting work, in place of slots of other languages where the pool is full."""
        if self._retry_at.get(key, 0) > time.monotonic():
            return
        self._retry_at.pop(key, None)
        waiting = len(self._waiting[key])
        while self._starting[key] < waiting:
            total = len(self._workers) + sum(self._starting.values()) + self._closing
            if total >= self.size and not self._make_way(key):
                return
            if total >= self.size:
                return
            self._start(key, self._waiting[key][0].language)

    def _make_way(self, key: str) -> bool:
        """Give up an idle slot of another language; or, after a while, bid one leave when its work in hand is done."""
        others = [w for w in self._workers if w.key != key]
        idle = next((w for w in others if w.idle and not self._waiting.get(w.key)), None)
        starved = time.monotonic() - self._waiting_since.get(key, 0) >= PATIENCE_S and not self._count(key)
        if idle:
            self._discard(idle)
        elif starved and others and not any(w.leaving for w in self._workers):
            max(others, key=lambda w: self._count(w.key)).leaving = True
        return idle is not None

    def _start(self, key: str, language: Language) -> None:
        def done(slot: Slot | None, error: BaseException | None) -> None:
            self._starting[key] -= 1
            if error or slot is None:
                self._failed_to_start(key, error)
            else:
                self._add(Worker(key, slot))

        self._starting[key] += 1
        self._background(lambda: self._backend.start(language), done)

    def _add(self, worker: Worker) -> None:
        self._workers.append(worker)
        self._selector.register(worker.slot.connection, selectors.EVENT_READ, worker)

    def _failed_to_start(self, key: str, error: BaseException | None) -> None:
        """What is missing stays missing; what else went wrong is tried again before the work that waits is given up."""
        self._failures[key] += 1
        self._retry_at[key] = time.monotonic() + FIRST_PAUSE_S * 2 ** (self._failures[key] - 1)
        final = isinstance(error, MissingRequirement)
        if self._count(key) or not (final or self._failures[key] >= STARTS):
            return
        for ticket in self._waiting.pop(key, ()):
            if final and error:
                ticket.future.set_exception(error)
            else:
                ticket.future.set_result(Answer(error=f"no slot could be started: {error}", attempts=ticket.attempts))
        self._failures.pop(key)
        self._retry_at.pop(key)

    def _background(self, act: Callable[[], Any], then: Callable[[Any, BaseException | None], None]) -> None:
        """Do something slow on the executor, and then the rest on the pool's thread."""

        def finish(future: Future[Any]) -> None:
            error = future.exception()
            self._inbox.append(lambda: then(None if error else future.result(), error))
            self._ring()

        if self._closed:
            act()
        else:
            self._executor.submit(act).add_done_callback(finish)

    def _end(self) -> None:
        """Close all slots, those too that were about to start, and tell everyone who waits."""
        self._executor.shutdown(wait=True)
        while self._inbox:
            self._inbox.popleft()()
        unfinished = [ticket for worker in self._workers for ticket in worker.tickets]
        unfinished += [ticket for queue in self._waiting.values() for ticket in queue] + self._suspects.tickets
        for ticket in unfinished:
            ticket.future.set_exception(AgnosticsError("the sandbox was closed before this program was verified"))
        for worker in self._workers:
            worker.slot.close()
        self._selector.close()
