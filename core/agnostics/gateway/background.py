"""Blocking functions on threads of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

_T = TypeVar("_T")


def in_background(function: Callable[[], _T]) -> asyncio.Future[_T]:
    """Call a function on a new thread.

    The thread is a daemon: a model that hangs does not keep the process from ending, as the threads of an executor do.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def deliver(result: _T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]  # a result that is None is one of type None
        else:
            future.set_exception(error)

    def run() -> None:
        try:
            outcome = (function(), None)
        except BaseException as error:  # it is raised where the future is awaited
            outcome = (None, error)  # type: ignore[assignment]
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(deliver, *outcome)

    Thread(target=run, name="agnostics-model-call", daemon=True).start()
    return future
