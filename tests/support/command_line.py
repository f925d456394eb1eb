"""What a command of `agn` answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """The end of a command: its exit status, and what it said."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The one JSON value on stdout."""
        return json.loads(self.stdout)

    @property
    def complaint(self) -> str:
        """The last line of stderr, which is the error."""
        line = self.stderr.splitlines()[-1]
        assert line.startswith("agn: ")
        assert "Traceback" not in self.stderr
        return line


Agn = Callable[..., Answer]
"""Runs the command line of these words."""
