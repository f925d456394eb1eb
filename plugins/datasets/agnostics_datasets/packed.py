"""Tests as LiveCodeBench packs them: base64 of zlib of a pickle, which must be opened without running it."""

from __future__ import annotations

import base64
import pickle
import pickletools
import zlib
from io import BytesIO
from typing import Any, NoReturn

MOST_BYTES = 1 << 29
"""How large the packed tests of a problem may become: those of 499 problems are 8 GB together."""
_OPCODES = """
    PROTO FRAME STOP MARK MEMOIZE BINPUT BINGET NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS
"""
_PLAIN = frozenset(_OPCODES.split())
"""What a pickle of str, int, float, bool, None, lists and dicts says, and nothing that names, calls or reserves."""


def unpacked(text: str) -> Any:
    """The plain data that `text` holds. Raises ValueError for anything else, and for more than `MOST_BYTES` of it."""
    try:
        return _loaded(_inflated(base64.b64decode(text, validate=True)))
    except (ValueError, zlib.error, pickle.UnpicklingError, EOFError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"packed tests: {error}") from error


def _inflated(data: bytes) -> bytes:
    opening = zlib.decompressobj()
    whole = opening.decompress(data, MOST_BYTES)
    if opening.unconsumed_tail:
        raise ValueError(f"larger than {MOST_BYTES} bytes")
    if not opening.eof:
        raise ValueError("cut off")
    return whole


def _loaded(data: bytes) -> Any:
    if strange := next((op.name for op, _, _ in pickletools.genops(data) if op.name not in _PLAIN), None):
        raise ValueError(f"more than plain data: {strange}")
    return _Unpickler(BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    """The second wall: it imports nothing."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")
