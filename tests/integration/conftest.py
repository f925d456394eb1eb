"""What integration tests share: the starter model, made once and kept in the user's cache."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The folder of the starter model for Lua, as `agn model bootstrap` makes it."""
    agn = [sys.executable, "-c", "from agnostics.cli import main; main()"]
    command = [*agn, "model", "bootstrap", "--language", "lua", "--sandbox", "bubblewrap", "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    return Path(json.loads(answer.stdout)["model"])
