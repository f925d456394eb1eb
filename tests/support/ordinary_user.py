"""Bubblewrap mode as an ordinary user, in tests that root runs: a thread that has given up root starts the slots.

Everything else, such as a look at a slot from outside, stays with the rights of the tests.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from agnostics.sandbox.backend import SlotFactory
from agnostics.sandbox.backends import bubblewrap_slots
from agnostics.sandbox.backends.bubblewrap import BubblewrapBackend
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.slot_options import SlotOptions
from agnostics.types.language import Language

NOBODY = 65534
_CALLS = {"x86_64": (116, 119, 117), "aarch64": (159, 149, 147)}
"""The numbers of setgroups, setresgid and setresuid; the C library's functions would change every thread."""
_SET_DUMPABLE = 4


def _give_up_root() -> None:
    """Make this thread one of `NOBODY`, for good. Raises OSError if it cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    groups, gid, uid = _CALLS[platform.machine()]
    for call in ((groups, 0, None), (gid, *(NOBODY,) * 3), (uid, *(NOBODY,) * 3)):
        if libc.syscall(*call):
            raise OSError(ctypes.get_errno(), "cannot give up root")
    libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)  # else the files of this process in /proc would be closed to it


class OrdinaryUserBackend(BubblewrapBackend):
    """Bubblewrap mode as `NOBODY`, who has no control group of his own."""

    name = "ordinary-user"

    def open(self) -> SlotFactory:
        return _SlotFactory()


class _SlotFactory(SlotFactory):
    def __init__(self) -> None:
        self._folder = TemporaryDirectory()
        copy = Path(self._folder.name, "harness")
        shutil.copy(harness_path(), copy)
        copy.parent.chmod(0o755)
        self._user = ThreadPoolExecutor(1, initializer=_give_up_root)
        self._factory = self._user.submit(_factory_with, copy).result()

    def start(self, language: Language) -> bubblewrap_slots.BubblewrapSlot:
        return self.start_with(language, SlotOptions())

    def start_with(self, language: Language, options: SlotOptions) -> bubblewrap_slots.BubblewrapSlot:
        for mount in options.mounts:
            if mount.private:
                _give_to_nobody(mount.source)
        return self._user.submit(self._factory.start_with, language, options).result()

    def close(self) -> None:
        self._user.shutdown()
        self._folder.cleanup()


def _give_to_nobody(folder: Path) -> None:
    """Make a folder, what is in it, and the one that keeps others out of it those of a user who had made them."""
    for path in (folder.parent, folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


def _factory_with(harness: Path) -> bubblewrap_slots.BubblewrapSlotFactory:
    """A factory whose harness is a copy that everybody may read."""
    assert os.geteuid() == NOBODY
    names = vars(bubblewrap_slots)
    original = names["harness_path"]
    names["harness_path"] = lambda: harness
    try:
        return bubblewrap_slots.BubblewrapSlotFactory()
    finally:
        names["harness_path"] = original
