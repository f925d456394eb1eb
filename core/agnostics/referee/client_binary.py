"""The path of the client in the box, a static program for this processor (`client/`)."""

from __future__ import annotations

import platform
from pathlib import Path

from agnostics.types.errors import MissingRequirement


def client_path() -> Path:
    """The path of the client. Raises MissingRequirement if it was not built."""
    path = Path(__file__).parent / "bin" / f"session-{platform.machine()}"
    if not path.exists():
        raise MissingRequirement(f"the client is missing ({path}); run: pip install --force-reinstall agnostics")
    return path
