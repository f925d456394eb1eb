"""Long texts in an SQLite database: a short one as it is, a longer one compressed. Postgres compresses by itself."""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

SHORT = 100
"""Characters up to which a text is not worth compressing."""


class CompressedText(TypeDecorator[str]):
    """A text, always a str in Python; in SQLite a zlib BLOB where that is smaller."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return packed(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        found: str | None = plain(value) if dialect.name == "sqlite" else value
        return found


def packed(text: str | None) -> str | bytes | None:
    """What SQLite is given for `text`: itself, or its UTF-8 compressed where that takes less."""
    if text is None or len(text) <= SHORT:
        return text
    encoded = text.encode()
    compressed = zlib.compress(encoded)
    return compressed if len(compressed) < len(encoded) else text


def plain(value: Any) -> Any:
    """The text that `packed` was given; any other value as it is. SQL on our connections has it as `plain(x)`."""
    if not isinstance(value, bytes):
        return value
    try:
        return zlib.decompress(value).decode()
    except (zlib.error, UnicodeDecodeError):
        return value
