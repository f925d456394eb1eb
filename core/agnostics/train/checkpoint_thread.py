"""One checkpoint on its way to the disk, on a thread of each rank."""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from agnostics.train.checkpoint import folder_of, link_best, publish, remove_old
from agnostics.train.snapshot import PolicySnapshot
from agnostics.train.state import TrainerState
from agnostics.util.distributed import ProcessGroup
from agnostics.util.files import sha256

_POLL_S = 0.05
_OTHER_RANKS_S = 10.0
"""How long a run that ends with an error waits for files of other ranks."""
_ABANDON_S = 10.0
"""How long an abandoned file may take to its end; it is not waited for any longer."""


@dataclass(frozen=True, slots=True)
class CheckpointContents:
    """What a checkpoint holds, unchanged by the training that goes on. Ranks other than 0 write `policy` alone."""

    policy: PolicySnapshot
    tokenizer: Any
    random_state: torch.Tensor
    state: str
    """The trainer's state, in JSON."""

    @classmethod
    def of(cls, policy: PolicySnapshot, tokenizer: Any, state: TrainerState) -> CheckpointContents:
        """The contents now."""
        return cls(policy, tokenizer, torch.get_rng_state(), json.dumps(asdict(state)))


class _Abandoned(Exception):
    """Ends the thread of a checkpoint that is given up."""


class CheckpointThread(threading.Thread):
    """Writes the `contents` of the checkpoint of a step; on rank 0 it publishes it once all ranks have written.

    `is_done` says whether this rank has written its part, and on rank 0 whether the checkpoint has its name.
    """

    contents: CheckpointContents | None = None

    def __init__(self, run_folder: Path, state: TrainerState, keep: int, group: ProcessGroup) -> None:
        super().__init__(name=f"checkpoint of step {state.step}", daemon=True)
        self.run_folder, self.folder = run_folder, folder_of(run_folder, state.step)
        self.partial = self.folder.with_name(f".{self.folder.name}.part")
        self.is_done = False
        self._state, self._keep, self._group = state, keep, group
        self._abandoned = threading.Event()
        self._others_until_s = math.inf
        self._error: BaseException | None = None

    def run(self) -> None:
        """Write; an error is kept for `raise_error`."""
        try:
            written = self._write()
            if self._group.is_main:
                self._complete()
            else:
                self._report(written)
            self.is_done = True
        except BaseException as error:
            self._error = error
        finally:
            self.contents = None  # its memory

    def raise_error(self) -> None:
        """Raise what has ended the thread, if that was an error."""
        if self._error:
            raise self._error

    def finish(self) -> None:
        """Wait until the checkpoint is written, or cannot be because another rank is lost."""
        self._others_until_s = time.monotonic() + _OTHER_RANKS_S
        self.join()

    def abandon(self) -> None:
        """End the thread after the file that it writes, and remove what is not complete."""
        self._abandoned.set()
        if self.ident:
            self.join(_ABANDON_S)
        if self._group.is_main:
            shutil.rmtree(self.partial, ignore_errors=True)

    def _write(self) -> list[Path]:
        """Write the files of this rank."""
        assert self.contents
        written = list[Path]()
        if self._group.is_main:
            trainer = self.partial / "trainer"
            self.contents.tokenizer.save_pretrained(self.partial)
            torch.save(self.contents.random_state, trainer / "random.pt")
            (trainer / "state.json").write_text(self.contents.state, encoding="utf-8")
        for path in self.contents.policy.write():
            self._raise_if_abandoned()
            written.append(path)
        return written

    def _complete(self) -> None:
        """Publish the checkpoint once all ranks have written their files."""
        digests = self._digests_of_others()
        own = [path for path in self.partial.rglob("*") if path.is_file() and self._relative(path) not in digests]
        digests |= self._digests(own)
        publish(self.partial, self.folder, self._group.world_size, digests)
        link_best(self.run_folder, self._state)
        remove_old(self.run_folder, self._keep)

    def _report(self, written: Sequence[Path]) -> None:
        """Tell rank 0 what this rank has written.

        It is told through the store of the rendezvous: collectives belong to the main thread, and those of a second
        thread would mix with them in another order on each rank.
        """
        self._group.store.set(self._key(self._group.rank), json.dumps(self._digests(written)))

    def _digests_of_others(self) -> dict[str, str]:
        """The checksums of what the other ranks have written, once all of them have."""
        keys = [self._key(rank) for rank in range(1, self._group.world_size)]
        while keys and not self._group.store.check(keys):
            if time.monotonic() > self._others_until_s:
                raise _Abandoned
            self._raise_if_abandoned()
            self._abandoned.wait(_POLL_S)
        digests = dict[str, str]()
        for key in keys:
            digests |= json.loads(self._group.store.get(key))
            self._group.store.delete_key(key)  # the same step may be saved again
        return digests

    def _key(self, rank: int) -> str:
        return f"agnostics/{self.folder.name}/{rank}"

    def _digests(self, paths: Sequence[Path]) -> dict[str, str]:
        return {self._relative(path): sha256(path, lambda _: self._raise_if_abandoned()) for path in paths}

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self.partial))

    def _raise_if_abandoned(self) -> None:
        if self._abandoned.is_set():
            raise _Abandoned
