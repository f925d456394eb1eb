"""The beginning and the end of a training run: what callbacks are told, and what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from agnostics.callbacks.callback import RunCallback, RunInfo, RunStatus
from agnostics.util.distributed import ProcessGroup
from agnostics.util.signals import ForcedInterrupt


def until_interrupted(train: Callable[[], None], save: Callable[[], None], abandon: Callable[[], None]) -> RunStatus:
    """Run `train`; after an interrupt `save`, unless a second one prevents it: then `abandon` what is being saved."""
    try:
        try:
            train()
        except ForcedInterrupt:
            raise
        except KeyboardInterrupt:
            save()
            return "interrupted"
    except ForcedInterrupt:
        abandon()
        return "interrupted"
    return "finished"


@contextmanager
def reported(
    callbacks: RunCallback, info: RunInfo, group: ProcessGroup
) -> Iterator[Callable[[RunStatus, Mapping[str, Any]], None]]:
    """Tell the callbacks of the run's start, and of its end: through the yielded function, or as failed."""
    finished = False

    def finish(status: RunStatus, summary: Mapping[str, Any]) -> None:
        nonlocal finished
        finished = True
        callbacks.run_finished(status, summary)

    try:
        group.run_on_all(lambda: callbacks.run_started(info))
        yield finish
    except BaseException as error:
        if not finished:
            with suppress(Exception):  # the first error is the one to report
                callbacks.run_finished("failed", {"error": str(error)})
        raise
