"""Short texts for messages."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """The first line of an error's message that is not blank, or the name of its class."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def plural(count: int, noun: str) -> str:
    """`count` and `noun`, with an s unless there is exactly one: "1 request", "2 requests"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
