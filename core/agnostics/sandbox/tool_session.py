"""Sessions in slots without a shell: their files are carried by one static program."""

from __future__ import annotations

from collections.abc import Callable

from agnostics.sandbox.backend import Slot
from agnostics.sandbox.session import Session, _require_small
from agnostics.types.task import Limits


class ToolSession(Session):
    """A session whose slot has `tool`, a program that carries files (`SlotOptions.file_tool`)."""

    def __init__(self, slot: Slot, limits: Limits, release: Callable[[bool], None], tool: str) -> None:
        super().__init__(slot, limits, release)
        self._tool = tool

    def get(self, path: str) -> bytes:
        return self._transfer((self._tool, "read", path), f"cannot read {path[:300]!r} in the sandbox")

    def snapshot(self) -> bytes:
        return self._transfer((self._tool, "pack"), "cannot take a snapshot of the workspace")

    def _unpack(self, archive: bytes) -> None:
        _require_small(len(archive))
        self._transfer((self._tool, "unpack"), "cannot write the files in the sandbox", archive)
