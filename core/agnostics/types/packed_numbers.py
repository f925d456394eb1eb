"""Numbers as bytes, each sequence in the narrowest type that holds all of them exactly."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_INTEGER_TYPES = "Bhiq"
"""uint8, int16, int32 and int64, as `struct` names them."""


def pack_integers(values: Sequence[int]) -> tuple[str, bytes]:
    """The type and the bytes of integers: (N,). Raises struct.error if int64 does not hold them."""
    for kind in _INTEGER_TYPES[:-1]:
        with suppress(struct.error):  # raised by the first that does not fit
            return kind, _pack(kind, values)
    return _INTEGER_TYPES[-1], _pack(_INTEGER_TYPES[-1], values)


def pack_floats(values: tuple[float, ...]) -> tuple[str, bytes]:
    """The type and the bytes of numbers, (N,): float32 if each is one, as those of engines are, else float64."""
    with suppress(OverflowError):
        packed = _pack("f", values)
        # A conversion to float32 and back keeps the sign of a zero; a NaN equals nothing, and is kept in float64.
        if unpack("f", packed) == values:
            return "f", packed
    return "d", _pack("d", values)


def unpack(kind: str, packed: bytes | memoryview) -> tuple[Any, ...]:
    """The numbers that were packed: (N,)"""
    return struct.unpack(f"{len(packed) // struct.calcsize(kind)}{kind}", packed)


def _pack(kind: str, values: Sequence[float]) -> bytes:
    return struct.pack(f"{len(values)}{kind}", *values)
