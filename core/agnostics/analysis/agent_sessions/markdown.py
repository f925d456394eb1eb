"""Markdown: tables, and texts that strangers wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>|#&"})
_MAX_CHARS = 200


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns are aligned to the left, and the others to the right."""
    rule = ["---" if place < left else "---:" for place in range(len(columns))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rule, *rows))


def escaped(text: str) -> str:
    """`text` on one line, as Markdown that shows it as it is."""
    return _line(text).translate(_SPECIAL)


def code(text: str) -> str:
    """`text` on one line as code in a table."""
    line = _line(text).replace("`", "'").replace("|", "\\|")
    return f"`{line}`" if line.strip() else ""


def _line(text: str) -> str:
    shown = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(shown.split()))
