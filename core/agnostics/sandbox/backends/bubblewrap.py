"""Bubblewrap mode: each slot is a set of namespaces, with this machine's toolchains and without a container engine."""

from __future__ import annotations

from agnostics.sandbox.backend import SandboxBackend, SlotFactory


class BubblewrapBackend(SandboxBackend):
    """Slots in namespaces made by `bwrap`."""

    name = "bubblewrap"
    description = "namespaces for each slot, without a container engine"
    priority = 10

    def check(self) -> str:
        """Make a namespace, and return the version of bwrap."""
        from agnostics.sandbox.backends.bubblewrap_slots import check_namespaces

        return check_namespaces()

    def open(self) -> SlotFactory:
        """Find the cgroups for the slots, and remove those of dead processes."""
        from agnostics.sandbox.backends.bubblewrap_slots import BubblewrapSlotFactory

        return BubblewrapSlotFactory()
