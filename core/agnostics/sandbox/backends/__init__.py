"""The built-in sandbox backends, one module for each isolation mode."""

from __future__ import annotations

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.backends.bubblewrap import BubblewrapBackend
from agnostics.sandbox.backends.docker import DockerBackend
from agnostics.sandbox.backends.process import ProcessBackend

BUILTIN_BACKENDS: tuple[SandboxBackend, ...] = (DockerBackend(), BubblewrapBackend(), ProcessBackend())
