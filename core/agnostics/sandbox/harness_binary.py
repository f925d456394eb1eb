"""Where the harness is: a static binary, built with the wheel for this processor."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.types.errors import MissingRequirement


def harness_path() -> Path:
    """The harness. Raises MissingRequirement where it was not built."""
    path = Path(__file__).parent / "bin" / f"harness-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"harness is missing ({path}); run: pip install --force-reinstall agnostics")
    return path
