"""Input of commands: a file, or stdin."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from agnostics.types.errors import UsageError


class InputFile(click.File):
    """A file to read, `-` for stdin. Raises UsageError if that is closed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> IO[Any]:
        """The opened file."""
        if value == "-" and sys.stdin is None:
            raise UsageError("stdin is closed; name a file, or connect stdin to one")
        file: IO[Any] = super().convert(value, param, ctx)
        return file
