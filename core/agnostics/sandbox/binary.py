"""Where our binaries are: static ones, built with the wheel for this processor."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.errors import MissingRequirement


def harness_path() -> Path:
    """The harness. Raises MissingRequirement where it was not built."""
    return _built("harness")


def bare_path() -> Path:
    """What the sandbox is measured against (`bench/bare.c`). Raises MissingRequirement where it was not built."""
    return _built("bare")


def _built(name: str) -> Path:
    path = Path(__file__).parent / "bin" / f"{name}-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"{name} is missing ({path}); run: pip install --force-reinstall agnostics")
    return path
