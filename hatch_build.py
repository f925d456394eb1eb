"""Builds the sandbox's harness, and what it is measured against, into the wheel: static, for each processor."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
CORE = ROOT / "core" / "agnostics"
HARNESS = CORE / "sandbox" / "harness"
BARE = [CORE / "bench" / "bare.c", *(HARNESS / name for name in ("compare.c", "frames.c", "harness.h"))]
PROGRAMS = {"harness": sorted(HARNESS.glob("*.[ch]")), "bare": BARE}
PROCESSORS = ("x86_64", "aarch64")
FLAGS = ("-static", "-Os", "-s", "-std=gnu11", "-Wall", "-Wextra", "-Werror")


class HarnessBuildHook(BuildHookInterface[Any]):
    """Compiles each program into `sandbox/bin/PROGRAM-PROCESSOR`, unless that is as new as its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self.target_name != "wheel":
            return
        for program in PROGRAMS:
            for processor in PROCESSORS:
                build(program, processor)


def build(program: str, processor: str) -> Path:
    """`program` for `processor`, compiled if its sources have changed."""
    binary = CORE / "sandbox" / "bin" / f"{program}-{processor}"
    stamp = ROOT / "build" / f"{binary.name}.sources"
    sources = PROGRAMS[program]
    key = _key(sources)
    if binary.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == key:
        return binary
    binary.parent.mkdir(exist_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    _compile(processor, [path for path in sources if path.suffix == ".c"], binary)
    stamp.write_text(key, encoding="ascii")
    return binary


def _key(sources: list[Path]) -> str:
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sources:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _compile(processor: str, sources: list[Path], binary: Path) -> None:
    """Compile beside the old binary and replace it in one step: a running harness keeps its file."""
    fresh = binary.with_name(f"{binary.name}.{os.getpid()}")
    compiler = [sys.executable, "-m", "ziglang", "cc", "-target", f"{processor}-linux-musl"]
    subprocess.run([*compiler, *FLAGS, "-o", str(fresh), *map(str, sources)], check=True, timeout=900)
    fresh.chmod(0o755)
    fresh.replace(binary)


if __name__ == "__main__":
    for program in PROGRAMS:
        for processor in PROCESSORS:
            print(build(program, processor))
