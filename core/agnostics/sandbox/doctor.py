"""Findings about this machine's isolation: sandbox backends, cgroups and toolchains."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from agnostics.sandbox.backend import SandboxBackend
from agnostics.sandbox.cgroups import find_parent_groups
from agnostics.sandbox.docker_client import engine_info
from agnostics.sandbox.harness_binary import harness_path
from agnostics.sandbox.host_folders import can_overlay
from agnostics.sandbox.toolchain import TOOLCHAIN_PATH, install_hint, missing_tools
from agnostics.sandbox.user_namespaces import can_make_user_namespaces
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

_SECCOMP = Path("/proc/sys/kernel/seccomp/actions_avail")
_USER_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
_ENGINE_TIMEOUT_S = 5


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
    crowds = "in `bubblewrap` mode a program of many processes slows down those that run beside it"
    return [
        Finding(f"{name} cgroup", str(folder) if folder else None, meaning, mend)
        for name, folder, meaning in (
            ("memory", parents.memory, means),
            ("pids", parents.pids, means),
            ("cpu", parents.shares, crowds),
        )
    ]


def isolation_findings() -> list[Finding]:
    """One finding for each part of the isolation that depends on the machine; docs/security.md says what each holds."""
    return [
        Finding(
            "system call filter",
            "an allow-list" if _SECCOMP.exists() else None,
            "no slot can start, in any mode",
            "a kernel with CONFIG_SECCOMP_FILTER",
        ),
        Finding(
            "bubblewrap user namespace",
            _user_namespace(),
            "root in a slot is root of the machine, without most capabilities",
            "allow user namespaces: sysctl -w user.max_user_namespaces=10000; in a container, show all of /proc",
        ),
        Finding(
            "bubblewrap overlays",
            "of the machine's files" if _harness_can(can_overlay) else None,
            "locks and watches on files of the machine reach other slots",
            "modprobe overlay",
        ),
        *_container_findings(),
    ]


def _harness_can(check: Callable[[Path], bool]) -> bool:
    try:
        return shutil.which("bwrap") is not None and check(harness_path())
    except MissingRequirement:
        return False


def _user_namespace() -> str | None:
    if os.geteuid() != 0:
        return "of the user who starts it"
    return "with ids of no account" if _harness_can(can_make_user_namespaces) else None


def _container_findings() -> list[Finding]:
    """What isolates containers; nothing without an engine, which the finding of its backend says."""
    try:
        options = engine_info(_ENGINE_TIMEOUT_S).get("SecurityOptions") or []
    except MissingRequirement:
        return []
    means = "root in a container is root of the machine, without most capabilities"
    mend = "allow user namespaces: sysctl -w user.max_user_namespaces=10000"
    return [Finding("docker user namespace", _docker_user_namespace(options), means, mend)]


def _docker_user_namespace(options: Iterable[str]) -> str | None:
    names = {option.partition(",")[0].removeprefix("name=") for option in options}
    if engine := ", ".join(sorted(names & {"userns", "rootless"})):
        return f"the engine's ({engine})"
    allowed = _USER_NAMESPACES.is_file() and int(_USER_NAMESPACES.read_text(encoding="ascii")) > 0
    return "with ids of no account" if allowed else None


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
