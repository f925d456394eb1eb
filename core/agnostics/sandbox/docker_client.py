"""The container engine: Docker, or Podman through DOCKER_HOST."""

from __future__ import annotations

import docker
from docker import DockerClient
from docker.errors import DockerException

from agnostics.types.errors import MissingRequirement
from agnostics.util.text import first_line

ANSWER_S = 120
"""How long the engine may take to answer one request."""


def connect() -> DockerClient:
    """A client of the engine that answers here. Raises MissingRequirement where none does."""
    try:
        return docker.from_env(timeout=ANSWER_S, max_pool_size=32)
    except DockerException as error:
        raise MissingRequirement(
            f"no container engine answers ({first_line(error)}); "
            "start one (`systemctl start docker`), point DOCKER_HOST to it, or use --sandbox bubblewrap"
        ) from error
