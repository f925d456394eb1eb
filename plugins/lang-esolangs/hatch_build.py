"""Builds the interpreters into the wheel: static, for the processor that the wheel is tagged with."""

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
SOURCES = ROOT / "interpreters"
PROGRAMS = {
    "brainfuck": ("brainfuck.c",),
    "befunge98": ("befunge98.c", "befunge_space.c", "befunge_stacks.c"),
    "whitespace": ("whitespace.c", "number.c"),
    "shakespeare": ("shakespeare.c", "shakespeare_parser.c", "shakespeare_text.c", "shakespeare_words.c"),
    "unlambda": ("unlambda.c",),
}
SHARED = ("common.c", "trace.c", "trace_file.c")
PROCESSORS = ("x86_64", "aarch64")
LINUXES = ("manylinux_2_17", "manylinux2014", "musllinux_1_1")
FLAGS = ("-static", "-O2", "-s", "-std=gnu11", "-Wall", "-Wextra", "-Werror")


class InterpretersBuildHook(BuildHookInterface[Any]):
    """Compiles each interpreter into `bin/LANGUAGE-PROCESSOR`, unless that is as new as its sources.

    A wheel has the interpreters of its platform; an editable installation has those of each processor.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if version == "editable":
            build_all()
            return
        binaries = build_all(wheel_processors())
        build_data["artifacts"] += [str(binary.relative_to(ROOT)) for binary in binaries]
        build_data |= {"pure_python": False, "tag": wheel_tag()}


def wheel_processors() -> tuple[str, ...]:
    """The processor of the platform that a wheel is built for; every one if that platform is not Linux.

    `_PYTHON_HOST_PLATFORM=linux-aarch64` builds for another platform, as it does for setuptools.
    """
    system, _, processor = sysconfig.get_platform().partition("-")
    return (processor,) if system == "linux" and processor in PROCESSORS else PROCESSORS


def wheel_tag() -> str:
    """The tag of that wheel. A static binary needs no C library: it runs on any Linux of its processor."""
    processors = wheel_processors()
    if len(processors) > 1:
        return "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    return "py3-none-" + ".".join(f"{system}_{processors[0]}" for system in LINUXES)


def build_all(processors: tuple[str, ...] = PROCESSORS) -> list[Path]:
    """Every interpreter for each of these processors."""
    return [build(program, processor) for program in PROGRAMS for processor in processors]


def build(program: str, processor: str) -> Path:
    """`program` for `processor`, compiled if its sources have changed."""
    binary = ROOT / "agnostics_lang_esolangs" / "bin" / f"{program}-{processor}"
    stamp = ROOT / "build" / f"{binary.name}.sources"
    sources = [SOURCES / name for name in (*PROGRAMS[program], *SHARED)]
    key = _key([*sources, *sorted(SOURCES.glob("*.h"))])
    if binary.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == key:
        return binary
    binary.parent.mkdir(exist_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    _compile(processor, sources, binary)
    stamp.write_text(key, encoding="ascii")
    return binary


def _key(sources: list[Path]) -> str:
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _compile(processor: str, sources: list[Path], binary: Path) -> None:
    """Compile beside the old binary and replace it in one step: a running interpreter keeps its file."""
    fresh = binary.with_name(f"{binary.name}.{os.getpid()}")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{processor}-linux-musl"]
    subprocess.run([*compiler, *FLAGS, "-o", str(fresh), *map(str, sources)], check=True, timeout=900)
    fresh.chmod(0o755)
    fresh.replace(binary)


if __name__ == "__main__":
    print(*build_all(), sep="\n")
