"""The choice of a sandbox backend: the one asked for by name, or the first of `auto` that works on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.backends import BUILTIN_BACKENDS
from agnostics.types.errors import MissingRequirement, unknown_name_error

Backends = Mapping[str, SandboxBackend]
"""Sandbox backends by name."""
AUTO = "auto"
RAY_PREFIX = "ray://"
"""The beginning of a `--sandbox` value that means the nodes of a Ray cluster."""


def builtin_backends() -> Backends:
    """The backends that Agnostics brings, by name."""
    return {backend.name: backend for backend in BUILTIN_BACKENDS}


def choose_backend(name: str = AUTO, backends: Backends | None = None) -> SandboxBackend:
    """The backend called `name`, or the first of `auto` that works here; never another one in silence.

    `backends` are the built-in ones by default. Raises UsageError for an unknown name and MissingRequirement if the
    backend does not work here.
    """
    return first_working(candidates(name, backends))


def candidates(name: str, backends: Backends | None = None) -> list[SandboxBackend]:
    """The backend called `name`, or those of `auto` in the order of their priority. Raises UsageError if unknown.

    NAME:RUNTIME is the backend with another runtime below it.
    """
    backends = builtin_backends() if backends is None else backends
    if name == AUTO:
        ranked = [(-backend.priority, name) for name, backend in backends.items() if backend.priority is not None]
        return [backends[name] for _, name in sorted(ranked)]
    name, _, runtime = name.partition(":")
    if name not in backends:
        raise unknown_name_error("sandbox", name, (AUTO, *backends, f"{RAY_PREFIX}auto"))
    return [backends[name].with_runtime(runtime) if runtime else backends[name]]


def first_working(backends: Sequence[SandboxBackend]) -> SandboxBackend:
    """The first backend that works here. Raises MissingRequirement with the reason of each if none does."""
    errors = list[MissingRequirement]()
    for backend in backends:
        try:
            backend.check()
        except MissingRequirement as error:
            errors.append(error)
        else:
            return backend
    if len(errors) == 1:
        raise errors[0]
    raise MissingRequirement(f"no sandbox works here: {'; or '.join(map(str, errors)) or 'there is none for `auto`'}")
