"""Docker mode: each slot is a container of Docker's engine. Podman's has no RAM disks with a limit on files."""

from __future__ import annotations

import json

from agnostics.sandbox.backend import SandboxBackend, SlotFactory
from agnostics.types.errors import MissingRequirement

CHECK_TIMEOUT_S = 30


class DockerBackend(SandboxBackend):
    """Slots in containers of the engine that answers here, which bring their toolchains.

    `runtime` is one of the engine's OCI runtimes, such as gVisor's `runsc`; its default if not given.
    """

    name = "docker"
    description = "a container for each slot"
    priority = 20
    uses_host_toolchains = False

    def __init__(self, runtime: str | None = None) -> None:
        self._runtime = runtime
        if runtime:
            self.name = f"{DockerBackend.name}:{runtime}"

    def with_runtime(self, runtime: str) -> DockerBackend:
        """Containers of another of the engine's runtimes."""
        return DockerBackend(runtime)

    def check(self) -> str:
        """Return the version of the container engine. Raises MissingRequirement if it lacks the runtime."""
        from agnostics.sandbox.docker_client import engine_info

        info = engine_info(CHECK_TIMEOUT_S)
        known = sorted(info.get("Runtimes") or ())
        if self._runtime and self._runtime not in known:
            entry = json.dumps({"runtimes": {self._runtime: {"path": f"/usr/bin/{self._runtime}"}}})
            raise MissingRequirement(
                f"the container engine has no runtime {self._runtime!r} (it has {', '.join(known)}); install it, and "
                f"add to /etc/docker/daemon.json: {entry}"
            )
        return f"engine {info['ServerVersion']}"

    def open(self) -> SlotFactory:
        """Connect to the container engine."""
        from agnostics.sandbox.backends.docker_slots import DockerSlotFactory

        return DockerSlotFactory(self._runtime)
