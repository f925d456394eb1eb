"""Decoder of LiveCodeBench's packed tests: base64 of zlib of a pickle, which must not be executed."""

from __future__ import annotations

import base64
import pickle
import pickletools
import zlib
from io import BytesIO
from typing import Any, NoReturn

MOST_BYTES = 1 << 29
"""The maximum size of a problem's decoded tests; those of 499 problems are 8 GB together."""
_OPCODES = """
    PROTO FRAME STOP MARK MEMOIZE BINPUT BINGET NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 BINFLOAT
    BINUNICODE SHORT_BINUNICODE BINUNICODE8 EMPTY_LIST APPEND APPENDS EMPTY_DICT SETITEM SETITEMS
"""
_PLAIN = frozenset(_OPCODES.split())
"""The opcodes of a pickle of str, int, float, bool, None, lists and dicts: no imports, calls or preallocation."""


def unpack(text: str) -> Any:
    """The plain data that `text` encodes. Raises ValueError for anything else, and for more than `MOST_BYTES`."""
    try:
        return _loaded(_inflated(base64.b64decode(text, validate=True)))
    except (ValueError, zlib.error, pickle.UnpicklingError, EOFError, IndexError, KeyError, TypeError) as error:
        raise ValueError(f"packed tests: {error}") from error


def _inflated(data: bytes) -> bytes:
    decompressor = zlib.decompressobj()
    inflated = decompressor.decompress(data, MOST_BYTES)
    if decompressor.unconsumed_tail:
        raise ValueError(f"larger than {MOST_BYTES} bytes")
    if not decompressor.eof:
        raise ValueError("truncated")
    return inflated


def _loaded(data: bytes) -> Any:
    if strange := next((op.name for op, _, _ in pickletools.genops(data) if op.name not in _PLAIN), None):
        raise ValueError(f"more than plain data: {strange}")
    return _Unpickler(BytesIO(data)).load()


class _Unpickler(pickle.Unpickler):
    """A second line of defence: an unpickler without imports."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")
