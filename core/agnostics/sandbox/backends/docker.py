"""Docker mode: each slot is a container of Docker, or of Podman through DOCKER_HOST."""

from __future__ import annotations

from agnostics.sandbox.backend import SandboxBackend, SlotFactory

CHECK_TIMEOUT_S = 30


class DockerBackend(SandboxBackend):
    """Slots in containers of the engine that answers here, which bring their toolchains."""

    name = "docker"
    description = "a container for each slot"
    priority = 20
    uses_host_toolchains = False

    def check(self) -> str:
        """Return the version of the container engine."""
        from agnostics.sandbox.docker_client import engine_version

        return f"engine {engine_version(CHECK_TIMEOUT_S)}"

    def open(self) -> SlotFactory:
        """Connect to the container engine."""
        from agnostics.sandbox.backends.docker_slots import DockerSlotFactory

        return DockerSlotFactory()
