"""Compression of long texts in an SQLite database. Postgres compresses by itself."""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

SHORT = 100
"""Characters up to which a text is not compressed."""


class CompressedText(TypeDecorator[str]):
    """A text, always a str in Python; in SQLite a zlib BLOB if that is smaller."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        return compress(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        text: str | None = decompress(value) if dialect.name == "sqlite" else value
        return text


def compress(text: str | None) -> str | bytes | None:
    """`text`, or its UTF-8 compressed with zlib if that is smaller."""
    if text is None or len(text) <= SHORT:
        return text
    encoded = text.encode()
    compressed = zlib.compress(encoded)
    return compressed if len(compressed) < len(encoded) else text


def decompress(value: Any) -> Any:
    """The text that `compress` was given; any other value as it is. Also a SQL function on SQLite connections."""
    if not isinstance(value, bytes):
        return value
    try:
        return zlib.decompress(value).decode()
    except (zlib.error, UnicodeDecodeError):
        return value
