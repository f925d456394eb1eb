"""What this machine can isolate and run: container engine, bubblewrap, cgroups, toolchains."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from agnostics.sandbox.cgroups import find_parents
from agnostics.types.language import Language

TOOLCHAIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Finding:
    """One thing that may be here. `found` says what is; where it is None, `means` and `mend` say what that costs."""

    name: str
    found: str | None
    means: str
    mend: str


def sandbox_findings() -> list[Finding]:
    """The isolation modes that work here."""
    return [
        Finding(
            "docker",
            _docker_version(),
            "no container engine answers, so programs cannot run in `docker` mode",
            "apt-get install docker.io, then start the daemon (or set DOCKER_HOST)",
        ),
        Finding(
            "bubblewrap",
            _bubblewrap_version(),
            "bwrap is missing or may not make namespaces, so programs cannot run in `bubblewrap` mode",
            "apt-get install bubblewrap",
        ),
    ]


def limit_findings() -> list[Finding]:
    """Whether `bubblewrap` mode can have the kernel enforce memory and process limits for each slot."""
    parents = find_parents()
    means = "in `bubblewrap` mode the harness watches this limit instead of the kernel, and verifications say so"
    mend = "run as root, or in a delegated group: systemd-run --user --scope -p Delegate=yes agn ..."
    return [
        Finding(f"{name} cgroup", str(folder) if folder else None, means, mend)
        for name, folder in (("memory", parents.memory), ("pids", parents.pids))
    ]


def toolchain_findings(languages: Iterable[Language]) -> list[Finding]:
    """Whether each language's compiler and interpreter are on this machine (`docker` mode brings its own)."""
    return [_toolchain(language) for language in languages]


def missing_tools(language: Language) -> list[str]:
    """The commands of `language` that are not installed on this machine."""
    return [name for name in language.tools() if shutil.which(name, path=TOOLCHAIN_PATH) is None]


def install_hint(language: Language) -> str:
    """What brings the toolchain of `language` onto this machine, or does without."""
    if isinstance(language.install, str):
        return language.install
    return "install it, or use --sandbox docker, whose image brings it"


def _toolchain(language: Language) -> Finding:
    missing, tools = missing_tools(language), language.tools()
    here = shutil.which(tools[0], path=TOOLCHAIN_PATH) if tools else "comes with its pack"
    return Finding(
        f"toolchain {language.name}",
        None if missing else here,
        f"{', '.join(missing)} is not on this machine, so {language.name} runs in `docker` mode only",
        install_hint(language),
    )


def _docker_version() -> str | None:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=5)
        try:
            return f"engine {client.version()['Version']}"
        finally:
            client.close()
    except (DockerException, OSError):
        return None


def _bubblewrap_version() -> str | None:
    probe = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
    try:
        subprocess.run(probe, check=True, capture_output=True, timeout=10)
        version = subprocess.run(["bwrap", "--version"], check=True, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return version.stdout.strip() + (", as root" if os.geteuid() == 0 else "")
