"""The client of the container engine."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import docker
from docker import DockerClient
from docker.errors import DockerException
from requests.exceptions import RequestException

from agnostics.types.errors import MissingRequirement
from agnostics.util.text import first_line

REQUEST_TIMEOUT_S = 120


def connect(timeout_s: int = REQUEST_TIMEOUT_S) -> DockerClient:
    """A client whose requests wait at most `timeout_s`. Raises MissingRequirement if no engine answers."""
    try:
        return docker.from_env(timeout=timeout_s, max_pool_size=32)
    except DockerException as error:
        raise _no_engine(error) from error


def engine_info(timeout_s: int) -> dict[str, Any]:
    """What the engine says of itself. Raises MissingRequirement if none answers within `timeout_s`."""
    with closing(connect(timeout_s)) as client:
        try:
            return dict(client.info())
        except (DockerException, RequestException) as error:
            raise _no_engine(error) from error


def _no_engine(error: Exception) -> MissingRequirement:
    return MissingRequirement(
        f"no container engine answers ({first_line(error)}); "
        "start one (`systemctl start docker`), point DOCKER_HOST to it, or use --sandbox bubblewrap"
    )
