"""Builds the sandbox's harness into the wheel: a static binary for each processor."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
SANDBOX = ROOT / "core" / "agnostics" / "sandbox"
HARNESS = SANDBOX / "harness"
PROCESSORS = ("x86_64", "aarch64")
FLAGS = ("-static", "-Os", "-s", "-std=gnu11", "-Wall", "-Wextra", "-Werror")


class HarnessBuildHook(BuildHookInterface[Any]):
    """Compiles the harness into `sandbox/bin/harness-PROCESSOR`, unless that is as new as its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self.target_name == "wheel":
            build_harness()


def build_harness() -> list[Path]:
    """The harness for each processor, compiled if its sources have changed."""
    sources = sorted(HARNESS.glob("*.[ch]"))
    return [build(sources, SANDBOX / "bin" / f"harness-{processor}", processor) for processor in PROCESSORS]


def build(sources: list[Path], binary: Path, processor: str) -> Path:
    """`binary` for `processor`, compiled from `sources` if they have changed."""
    stamp = ROOT / "build" / f"{binary.name}.sources"
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
    includes = [f"-I{HARNESS}"]
    subprocess.run([*compiler, *FLAGS, *includes, "-o", str(fresh), *map(str, sources)], check=True, timeout=900)
    fresh.chmod(0o755)
    fresh.replace(binary)


if __name__ == "__main__":
    print(*build_harness(), sep="\n")
