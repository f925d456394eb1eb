"""Checkpoints are written in the background: the loop waits for a copy of the step's state, not for the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from agnostics.train.checkpoint import all_of, make_empty
from agnostics.train.checkpoint_thread import CheckpointContents, CheckpointThread
from agnostics.train.config import resume_argument
from agnostics.train.policy import Policy
from agnostics.train.state import TrainerState
from agnostics.types.errors import AgnosticsError
from agnostics.util.distributed import is_lost_rank_error
from agnostics.util.text import first_line

_POLL_S = 0.05


class CheckpointWriter:
    """Writes the checkpoints of a run, one at a time, each on a thread; then it removes all but the last `keep` and the
    best.

    A checkpoint is written to a temporary folder and renamed, so that a kill or a full disk leaves the last one intact.
    Every rank writes its part of the optimizer's state, rank 0 the rest.

    `save`, `check` and `wait` are collective: all ranks call them in the same order. They raise AgnosticsError, with
    the `command` of `agn` that resumes the run, if a checkpoint cannot be written on any rank.
    """

    def __init__(self, policy: Policy, tokenizer: Any, keep: int = 1, command: str = "run") -> None:
        self._policy, self._tokenizer, self._keep, self._command = policy, tokenizer, keep, command
        self._group = policy.process_group
        self._thread: CheckpointThread | None = None
        self._last: Path | None = None
        self._saved: TrainerState | None = None

    @property
    def last(self) -> Path | None:
        """The last checkpoint that this has written; one that is not complete does not count."""
        return self._thread.folder if self._thread and self._thread.is_done else self._last

    def save(self, run_folder: Path, state: TrainerState) -> None:
        """Copy the state of a step and begin to write it, once the checkpoint before it is written.

        If that one is of the same state, do nothing.
        """
        if self._group.run_on_main(lambda: self._is_saved(state)):
            return
        self.wait()
        thread = CheckpointThread(run_folder, state, self._keep, self._group)
        with self._explained(thread):
            self._group.run_on_main(lambda: make_empty(thread.partial))
            thread.contents = CheckpointContents.of(self._policy.snapshot(thread.partial), self._tokenizer, state)
        self._thread, self._saved = thread, state
        thread.start()

    def check(self) -> bool:
        """Whether everything is written; returns at once."""
        thread = self._thread
        if thread is None:
            return True
        with self._explained(thread):
            self._group.run_on_all(thread.raise_error)
        if not all(self._group.all_gather(thread.is_done)):
            return False
        self._last, self._thread = thread.folder, None
        return True

    def wait(self) -> None:
        """Return when everything is written."""
        while not self.check():
            assert self._thread
            self._thread.join(_POLL_S)

    def abandon(self) -> None:
        """Give up what is being written; the last complete checkpoint stays."""
        if self._thread:
            self._thread.abandon()
            self._thread = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """After an error of this rank or another, a checkpoint that is being written can still be completed."""
        if self._thread:
            self._thread.finish()
        self.abandon()

    def _is_saved(self, state: TrainerState) -> bool:
        return self._saved is not None and self._saved == replace(state, seconds=self._saved.seconds)

    @contextmanager
    def _explained(self, thread: CheckpointThread) -> Iterator[None]:
        """Give an error of writing one line that says what to do, and remove what was written."""
        try:
            yield
        except Exception as error:  # torch, safetensors and DeepSpeed each have an error of their own for a full disk
            if is_lost_rank_error(error):
                if thread is not self._thread:  # else it may still be completed
                    thread.abandon()
                raise
            self._thread = None
            thread.abandon()
            older = [path for path in all_of(thread.run_folder) if path != thread.folder]
            kept = f"the last checkpoint, {older[-1]}, is intact" if older else "there is no earlier checkpoint"
            raise AgnosticsError(
                f"the checkpoint {thread.folder} could not be written ({first_line(error)}); {kept}; "
                f"make room, then: agn {self._command} --resume {resume_argument(thread.run_folder)}"
            ) from error
