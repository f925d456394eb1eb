"""Process mode: each slot is a plain process, with resource limits only. For trusted programs.

There are no namespaces: programs see the machine's files and network, so `auto` never chooses this mode.
"""

from __future__ import annotations

import logging

from agnostics.sandbox.backend import SandboxBackend, SlotFactory

log = logging.getLogger("agnostics")


class ProcessBackend(SandboxBackend):
    """Slots that are plain processes."""

    name = "process"
    description = "resource limits only, for trusted programs"

    def check(self) -> str:
        """Return what the mode enforces; it works wherever the harness does."""
        from agnostics.sandbox.harness_binary import harness_path

        harness_path()
        return "resource limits only: programs see this machine's files and network"

    def open(self) -> SlotFactory:
        """Warn that there is no isolation."""
        from agnostics.sandbox.backends.process_slots import ProcessSlotFactory

        log.warning("sandbox mode `process`: programs run with resource limits only, and see this machine's files")
        return ProcessSlotFactory()
