"""Path of the program that the sandbox is compared with (`bare.c`)."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.types.errors import MissingRequirement


def bare_path() -> Path:
    """The static binary for this processor. Raises MissingRequirement where it was not built."""
    path = Path(__file__).parent / "bin" / f"bare-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"bare is missing ({path}); run: pip install -e benchmarks")
    return path
