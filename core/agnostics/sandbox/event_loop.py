"""The event sources of the pool's thread: the sockets of workers, callbacks of other threads, and background tasks."""

from __future__ import annotations

import selectors
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from agnostics.sandbox.worker import Worker

OnDone = Callable[[Any, BaseException | None], None]
"""(result or None, error or None) of a background task -> nothing."""


class EventLoop:
    """A selector, a queue of callbacks and a small executor. One thread calls all methods but `call` and `wake`."""

    def __init__(self, background_threads: int) -> None:
        self._callbacks: deque[Callable[[], None]] = deque()
        self._selector = selectors.DefaultSelector()
        self._wake_pending = False
        self._wake_r, self._wake_w = socket.socketpair()
        self._wake_r.setblocking(False)
        self._wake_w.setblocking(False)
        self._selector.register(self._wake_r, selectors.EVENT_READ)
        self._executor = ThreadPoolExecutor(background_threads, thread_name_prefix="agnostics-slots")
        self._background_stopped = False

    def call(self, callback: Callable[[], None]) -> None:
        """Run `callback` on the loop's thread. Safe from any thread."""
        self._callbacks.append(callback)
        self.wake()

    def wake(self) -> None:
        """End the current `select`. Safe from any thread."""
        if not self._wake_pending:
            self._wake_pending = True
            with suppress(OSError):
                self._wake_w.send(b"\0")

    def select(self, timeout_s: float) -> list[tuple[Worker, int]]:
        """The workers whose sockets are ready, with their selector events; empty after a wake-up or the timeout."""
        ready = list[tuple[Worker, int]]()
        for key, events in self._selector.select(timeout_s):
            if key.data is None:
                self._wake_r.recv(4096)
                self._wake_pending = False
            else:
                ready.append((key.data, events))
        return ready

    def run_callbacks(self) -> None:
        """Run the callbacks queued so far, and those that they queue."""
        while self._callbacks:
            self._callbacks.popleft()()

    def watch(self, worker: Worker) -> None:
        """Select on a worker's socket."""
        self._selector.register(worker.slot.connection, selectors.EVENT_READ, worker)

    def update(self, worker: Worker) -> None:
        """Select for writing while the worker has unsent bytes."""
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.has_unsent else 0)
        if self._selector.get_key(worker.slot.connection).events != events:
            self._selector.modify(worker.slot.connection, events, worker)

    def unwatch(self, worker: Worker) -> None:
        """Select on a worker's socket no longer."""
        with suppress(KeyError, ValueError):
            self._selector.unregister(worker.slot.connection)

    def run_in_background(self, task: Callable[[], Any], on_done: OnDone) -> None:
        """Run a slow task on the executor, then `on_done` on the loop's thread.

        After `stop_background` the task runs at once and `on_done` never.
        """

        def finish(future: Future[Any]) -> None:
            error = future.exception()
            self.call(lambda: on_done(None if error else future.result(), error))

        if self._background_stopped:
            task()
        else:
            self._executor.submit(task).add_done_callback(finish)

    def stop_background(self) -> None:
        """Wait for the background tasks. Safe to call twice."""
        self._background_stopped = True
        self._executor.shutdown(wait=True)

    def close(self) -> None:
        """Close the selector and the wake-up sockets."""
        self._selector.close()
        self._wake_r.close()
        self._wake_w.close()
