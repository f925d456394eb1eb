"""Where the harness is: a static binary built with the wheel."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.errors import MissingRequirement


def harness_path() -> Path:
    """The harness for this processor. Raises MissingRequirement where it was not built."""
    path = Path(__file__).parent / "bin" / f"harness-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(
            f"the sandbox's harness is missing ({path}); run: pip install --force-reinstall agnostics"
        )
    return path
