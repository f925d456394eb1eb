"""Builds the programs in C into the wheel, for its processor: the sandbox's harness, the library that holds
interpreters, and the client of agent sessions."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SANDBOX = ROOT / "core" / "agnostics" / "sandbox"
HARNESS = SANDBOX / "harness"
PRELOAD = SANDBOX / "preload"
REFEREE = ROOT / "core" / "agnostics" / "referee"
PROCESSORS = ("x86_64", "aarch64")
LINUXES = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
FLAGS = ("-Os", "-s", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
STATIC = ("linux-musl", "-static")
SHARED = ("linux-gnu.2.17", "-shared", "-fPIC", "-fvisibility=hidden", "-ldl")
"""The targets and flags of the harness and the client, which need no C library, and of the library, which runs with any
later one."""


class HarnessBuildHook(BuildHookInterface[Any]):
    """Compiles the harness into `sandbox/bin/harness-PROCESSOR`, the library into `sandbox/bin/hold-PROCESSOR.so` and
    the client into `referee/bin/session-PROCESSOR`, unless they are as new as their sources.

    A wheel has those of its platform; an editable installation has those of each processor.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if version == "editable":
            build_harness()
            return
        binaries = build_harness(wheel_processors())
        build_data["artifacts"] += [str(binary.relative_to(ROOT)) for binary in binaries]
        build_data |= {"pure_python": False, "tag": wheel_tag()}


def wheel_processors() -> tuple[str, ...]:
    """The processor of the platform that a wheel is built for; every one if that platform is not Linux.

    `_PYTHON_HOST_PLATFORM=linux-aarch64` builds for another platform, as it does for setuptools.
    """
    system, _, processor = sysconfig.get_platform().partition("-")
    return (processor,) if system == "linux" and processor in PROCESSORS else PROCESSORS


def wheel_tag() -> str:
    """The tag of that wheel. A static binary needs no C library: it runs on any Linux of its processor.

    The shared library is no part of a process of ours; interpreters that are linked to another C library are not held.
    """
    processors = wheel_processors()
    if len(processors) > 1:
        return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    return "py3-none-" + ".".join(f"{system}_{processors[0]}" for system in LINUXES)


def build_harness(processors: tuple[str, ...] = PROCESSORS) -> list[Path]:
    """The harness, the library and the client for each of these processors, compiled if their sources have changed."""
    harness = sorted(HARNESS.glob("*.[ch]"))
    library = [*sorted(PRELOAD.glob("*.[ch]")), HARNESS / "fork_server.h"]
    client = sorted((REFEREE / "client").glob("*.[ch]"))
    folder = SANDBOX / "bin"
    return [
        built
        for processor in processors
        for built in (
            build(harness, folder / f"harness-{processor}", processor),
            build(library, folder / f"hold-{processor}.so", processor, SHARED),
            build(client, REFEREE / "bin" / f"session-{processor}", processor),
        )
    ]


def build(sources: list[Path], binary: Path, processor: str, target: tuple[str, ...] = STATIC) -> Path:
    """`binary` for `processor`, compiled from `sources` if they have changed."""
    stamp = ROOT / "build" / f"{binary.name}.sources"
    key = _key(sources, target)
    if binary.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == key:
        return binary
    binary.parent.mkdir(exist_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    _compile(processor, [path for path in sources if path.suffix == ".c"], binary, target)
    stamp.write_text(key, encoding="ascii")
    return binary


def _key(sources: list[Path], target: tuple[str, ...]) -> str:
    digest = hashlib.sha256(" ".join((*FLAGS, *target)).encode())
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _compile(processor: str, sources: list[Path], binary: Path, target: tuple[str, ...]) -> None:
    """Compile beside the old binary and replace it in one step: a running harness keeps its file."""
    fresh = binary.with_name(f"{binary.name}.{os.getpid()}")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{processor}-{target[0]}"]
    includes = [f"-I{HARNESS}"]
    subprocess.run(
        [*compiler, *FLAGS, *target[1:], *includes, "-o", str(fresh), *map(str, sources)], check=True, timeout=900
    )
    fresh.chmod(0o755)
    fresh.replace(binary)


if __name__ == "__main__":
    print(*build_harness(), sep="\n")
