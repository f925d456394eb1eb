"""The pool across machines: on each node of a Ray cluster a pool of its own, and here one thread that shares out work.

Jobs travel in small batches of the same language. A node that dies takes nothing with it: its jobs are run elsewhere.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Self

from agnostics.sandbox.backpressure import Room
from agnostics.sandbox.protocol import Answer, Job
from agnostics.sandbox.ray.connection import connect, what_ray_says
from agnostics.sandbox.ray.node import NodePool, Reply
from agnostics.types.errors import AgnosticsError, MissingRequirement
from agnostics.types.language import Language

log = logging.getLogger("agnostics")

ATTEMPTS = 3
"""How often a job is sent to a node; each of the others died with it in hand."""
START_S = 120
"""How long a node may take until its pool answers, and how long work waits for a node when all are gone."""
SETTLE_S = 15.0
"""How long the others are waited for, at the start, once one node answers: those that take longer come in later."""
LOOK_S = 5.0
"""How often the cluster is asked which nodes it has."""
QUEUE_PER_SLOT = 64
BATCH_S = 0.1
"""About how long a batch takes one slot."""
LARGEST_BATCH = 32


@dataclass(eq=False)
class _Ticket:
    language: Language
    job: Job
    future: Future[Answer] = field(default_factory=Future)
    attempts: int = 0

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()


@dataclass(eq=False)
class _Node:
    """A node at work: its pool, how many programs that runs at once, and how many it has in hand."""

    pool: Any
    mode: str
    slots: int
    in_hand: int = 0
    program_s: float = BATCH_S

    @property
    def batch(self) -> int:
        """How many programs make a batch."""
        return max(1, min(LARGEST_BATCH, round(BATCH_S / self.program_s)))

    @property
    def room(self) -> int:
        """How many more programs it takes, so that none of its slots is ever idle."""
        return 2 * max(self.slots, self.batch) - self.in_hand


@dataclass(eq=False)
class _Start:
    """A node whose pool has not answered yet."""

    pool: Any
    slots: int
    since: float = field(default_factory=time.monotonic)


class ClusterPool:
    """Runs jobs on the nodes of a Ray cluster. A context manager; `close` ends the nodes' pools.

    `address` is what Ray takes: `auto` for the cluster that this machine is part of, or `ray://HOST:PORT`. Each node
    runs `slots` programs at once, as many as it has processors if not given. Raises MissingRequirement where Ray is
    not installed, the cluster does not answer, or none of its nodes can run programs in `mode`.
    """

    def __init__(self, address: str, mode: str = "auto", slots: int | None = None) -> None:
        self._ray = _Ray(*connect(address))
        self._mode, self._slots = mode, slots
        self._nodes: dict[str, _Node] = {}
        self._starting: dict[str, _Start] = {}
        self._refused: dict[str, str] = {}
        self._waiting: defaultdict[str, deque[_Ticket]] = defaultdict(deque)
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._closed = False
        self._looked = 0.0
        self._nodeless_since = time.monotonic()
        self._look_for_nodes()
        self._await_nodes()
        if not self._nodes:
            self._ray.close()
            reasons = "; ".join(self._refused.values()) or f"none answered within {START_S} s"
            raise MissingRequirement(f"no node of the cluster can run programs: {reasons}")
        self._room = Room(QUEUE_PER_SLOT * self.size)
        self._thread = threading.Thread(target=self._run, name="agnostics-cluster", daemon=True)
        self._thread.start()

    @property
    def mode(self) -> str:
        """The isolation modes in use on the nodes."""
        return "ray:" + "+".join(sorted({node.mode for node in self._nodes.values()}))

    @property
    def size(self) -> int:
        """How many programs run at once, at most."""
        return max(1, sum(node.slots for node in self._nodes.values()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def submit(self, language: Language, job: Job) -> Future[Answer]:
        """Queue a job; waits while the queue is full. Raises AgnosticsError once the pool is closed."""
        while not self._room.enter(timeout_s=1):
            self._refuse_if_closed()
        ticket = self._post(language, job)
        ticket.future.add_done_callback(lambda _: self._room.leave())
        return ticket.future

    def submit_now(self, language: Language, job: Job) -> Future[Answer]:
        """Queue a job that follows from one just done, from any thread, and never wait."""
        return self._post(language, job).future

    def close(self) -> None:
        """End the nodes' pools and fail what is unfinished. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._events.put(None)
        self._thread.join(timeout=60)
        for node in self._nodes.values():
            self._ray.end(node.pool)
        for start in self._starting.values():
            self._ray.kill(start.pool)
        self._ray.close()

    def _await_nodes(self) -> None:
        """Wait for the nodes that are starting; once one has, not for long."""
        begun = time.monotonic()
        while self._starting and (left := begun + (SETTLE_S if self._nodes else START_S) - time.monotonic()) > 0:
            with suppress(Empty):
                self._events.get(timeout=left)()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise AgnosticsError("the sandbox is closed")

    def _post(self, language: Language, job: Job) -> _Ticket:
        self._refuse_if_closed()
        ticket = _Ticket(language, job)
        self._events.put(lambda: self._enqueue(ticket))
        return ticket

    # What follows runs on the pool's thread.

    def _run(self) -> None:
        while not self._closed:
            self._take_events()
            if time.monotonic() - self._looked > LOOK_S:
                self._look_for_nodes()
            self._share_out()
        self._give_up("the sandbox was closed before this program was verified", raised=True)

    def _take_events(self) -> None:
        with suppress(Empty):
            act = self._events.get(timeout=LOOK_S)
            while act is not None:
                act()
                act = self._events.get_nowait()

    def _enqueue(self, ticket: _Ticket, *, first: bool = False) -> None:
        queue = self._waiting[ticket.language.name]
        queue.appendleft(ticket) if first else queue.append(ticket)

    def _share_out(self) -> None:
        """Hand the waiting jobs out, each batch to the node with the most room."""
        for queue in self._waiting.values():
            while queue and (node := max(self._nodes.values(), key=lambda node: node.room, default=None)):
                if node.room <= 0:
                    return
                share = -(-len(queue) // (2 * len(self._nodes)))
                self._send(node, [queue.popleft() for _ in range(min(node.batch, share))])
        if not self._nodes and time.monotonic() - self._nodeless_since > START_S:
            self._give_up("the last node of the cluster is gone")

    def _send(self, node: _Node, tickets: list[_Ticket]) -> None:
        node.in_hand += len(tickets)
        language = tickets[0].language.model_copy(update={"reference": {}})
        answer = self._ray.ask(node.pool, language, [ticket.job for ticket in tickets])
        answer.add_done_callback(lambda done: self._events.put(lambda: self._answered(node, tickets, done)))

    def _answered(self, node: _Node, tickets: list[_Ticket], done: Future[list[Reply]]) -> None:
        node.in_hand -= len(tickets)
        if error := done.exception():
            self._lost(node, tickets, error)
            return
        for ticket, reply in zip(tickets, done.result(), strict=True):
            if isinstance(reply, AgnosticsError):
                ticket.future.set_exception(reply)
            else:
                node.program_s += (_program_s(reply) - node.program_s) / 8
                ticket.future.set_result(reply)

    def _lost(self, node: _Node, tickets: list[_Ticket], error: BaseException) -> None:
        """Forget a node that died, and run what it had in hand elsewhere."""
        if (name := next((name for name, known in self._nodes.items() if known is node), None)) is not None:
            del self._nodes[name]
            self._nodeless_since = time.monotonic()
            log.warning("a node of the cluster is gone, its programs are run elsewhere: %s", what_ray_says(error))
        for ticket in reversed(tickets):
            ticket.attempts += 1
            if ticket.attempts < ATTEMPTS:
                self._enqueue(ticket, first=True)
            else:
                ticket.future.set_result(
                    Answer(error=f"three nodes died: {what_ray_says(error)}", attempts=ticket.attempts)
                )

    def _give_up(self, reason: str, *, raised: bool = False) -> None:
        for queue in self._waiting.values():
            while queue:
                future = queue.popleft().future
                future.set_exception(AgnosticsError(reason)) if raised else future.set_result(Answer(error=reason))

    def _look_for_nodes(self) -> None:
        """Start pools on the nodes that have none; one that cannot run programs is named once and left alone."""
        self._looked = time.monotonic()
        for name, cores in self._ray.nodes().items():
            if not any(name in known for known in (self._nodes, self._starting, self._refused)):
                self._start(name, self._slots or cores)
        for name, start in list(self._starting.items()):
            if self._looked - start.since > START_S:
                self._refuse(name, f"its pool did not answer within {START_S} s")

    def _start(self, name: str, slots: int) -> None:
        start = self._starting[name] = _Start(self._ray.start(name, self._mode, slots), slots)
        mode = self._ray.mode_of(start.pool)
        mode.add_done_callback(lambda done: self._events.put(lambda: self._started(name, done)))

    def _started(self, name: str, mode: Future[str]) -> None:
        if name not in self._starting:
            return  # it was given up
        if error := mode.exception():
            self._refuse(name, what_ray_says(error))
        else:
            start = self._starting.pop(name)
            self._nodes[name] = _Node(start.pool, mode.result(), start.slots)

    def _refuse(self, name: str, reason: str) -> None:
        self._ray.kill(self._starting.pop(name).pool)
        self._refused[name] = reason
        log.warning("a node of the cluster takes no part: %s", reason)


class _Ray:
    """What is asked of Ray: which nodes there are, a pool on each, and its answers."""

    def __init__(self, ray: Any, ours: bool) -> None:
        self._ray, self._ours = ray, ours

    def nodes(self) -> dict[str, int]:
        """The living nodes with their processors."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        return {node["NodeID"]: max(1, int(node["Resources"].get("CPU", 0))) for node in alive}

    def start(self, node: str, mode: str, slots: int) -> Any:
        """A pool on a node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node, soft=False)
        made = self._ray.remote(NodePool).options(num_cpus=0, max_concurrency=2 * slots + 8, scheduling_strategy=there)
        return made.remote(mode, slots)

    def mode_of(self, pool: Any) -> Future[str]:
        """The mode of a pool, once it has started; an exception where it cannot."""
        answer: Future[str] = pool.mode.remote().future()
        return answer

    def ask(self, pool: Any, language: Language, jobs: list[Job]) -> Future[list[Reply]]:
        """Have a pool run jobs."""
        answer: Future[list[Reply]] = pool.run.remote(language, jobs).future()
        return answer

    def end(self, pool: Any) -> None:
        """Close a pool and its slots."""
        with suppress(self._ray.exceptions.RayError):
            self._ray.get(pool.close.remote(), timeout=60)
        self.kill(pool)

    def kill(self, pool: Any) -> None:
        """End a pool whatever it is doing; its slots end with it."""
        self._ray.kill(pool)

    def close(self) -> None:
        """Leave the cluster, if it was joined for this."""
        if self._ours:
            self._ray.shutdown()


def _program_s(answer: Answer) -> float:
    runs = [*answer.tests, *([answer.compile] if answer.compile else [])]
    return sum(run.wall_ms for run in runs) / 1000
