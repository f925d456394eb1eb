"""Text for people."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its class if it has none."""
    return next(iter(str(error).splitlines()), type(error).__name__)
