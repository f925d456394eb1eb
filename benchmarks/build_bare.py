"""Builds `bare`, the program that the sandbox is measured against, from the harness's sources and its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
PACKAGE = Path(__file__).parent / "agnostics_benchmarks"
sys.path.insert(0, str(ROOT))

from hatch_build import HARNESS, PROCESSORS, build  # noqa: E402

SOURCES = [PACKAGE / "bare.c", *(HARNESS / name for name in ("compare.c", "die.c", "frames.c", "harness.h"))]


class BareBuildHook(BuildHookInterface[Any]):
    """Compiles `bare` for each processor, unless it is as new as its sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        for processor in PROCESSORS:
            build(SOURCES, PACKAGE / "bin" / f"bare-{processor}", processor)
