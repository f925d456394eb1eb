"""Findings about this machine's isolation: sandbox backends, cgroups and toolchains."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.cgroups import find_parent_groups
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH, install_hint, missing_tools
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language


@dataclass(frozen=True)
class Finding:
    """One requirement. `found` describes it; if it is None, `means` is the consequence and `mend` the remedy."""

    name: str
    found: str | None
    means: str
    mend: str


def sandbox_findings(backends: Iterable[SandboxBackend]) -> list[Finding]:
    """One finding for each backend."""
    return [_backend(backend) for backend in backends]


def limit_findings() -> list[Finding]:
    """One finding for each limit that the kernel can enforce per slot in `bubblewrap` mode."""
    parents = find_parent_groups()
    means = "in `bubblewrap` mode the harness watches this limit instead of the kernel, and verifications say so"
    mend = "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes agn ..."
    return [
        Finding(f"{name} cgroup", str(folder) if folder else None, means, mend)
        for name, folder in (("memory", parents.memory), ("pids", parents.pids))
    ]


def toolchain_findings(languages: Iterable[Language]) -> list[Finding]:
    """One finding for each language's compiler and interpreter on this machine; `docker` mode needs none of them."""
    return [_toolchain(language) for language in languages]


def _backend(backend: SandboxBackend) -> Finding:
    means = f"programs cannot run in `{backend.name}` mode ({backend.description})"
    try:
        return Finding(backend.name, backend.check(), means, "")
    except MissingRequirement as error:
        return Finding(backend.name, None, means, str(error))


def _toolchain(language: Language) -> Finding:
    missing, tools = missing_tools(language), language.tools()
    path = shutil.which(tools[0], path=TOOLCHAIN_PATH) if tools else "comes with its pack"
    return Finding(
        f"toolchain {language.name}",
        None if missing else path,
        f"{', '.join(missing)} is not on this machine, so {language.name} runs in `docker` mode only",
        install_hint(language),
    )
