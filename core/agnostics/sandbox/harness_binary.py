"""The path of the harness: a static binary for this processor, built with the wheel."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.types.errors import MissingRequirement


def harness_path() -> Path:
    """The path of the harness. Raises MissingRequirement if it was not built."""
    path = Path(__file__).parent / "bin" / f"harness-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"harness is missing ({path}); run: pip install --force-reinstall agnostics")
    return path
