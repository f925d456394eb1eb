"""Files: atomic writes (a file appears under its name when it is complete, or not at all) and checksums."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agnostics.types.errors import AgnosticsError

_PART = 1 << 22
"""Bytes of a file that are read at once."""


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """A binary file that replaces `path` when the block ends; if the block raises, `path` stays as it was.

    The data goes to a file beside `path` whose name holds the process and the thread, so that several may write.
    Raises AgnosticsError if the file cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror or error}; make room there, or name another file") from error
    finally:
        partial.unlink(missing_ok=True)


def atomic_write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8; see `atomic_write` for what it raises."""
    with atomic_write(path) as file:
        file.write(text.encode())


def sha256(path: Path, on_read: Callable[[int], None] = lambda _: None) -> str:
    """The SHA-256 of a file, in hexadecimal. `on_read` gets the number of bytes of each part as it is read."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_PART):
            digest.update(part)
            on_read(len(part))
    return digest.hexdigest()
