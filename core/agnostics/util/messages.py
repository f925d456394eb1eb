"""Messages between ranks: any object as bytes, its large buffers beside its pickle instead of in it.

Pickle protocol 5 hands out the buffers of numpy arrays and of `pickle.PickleBuffer` (PEP 574): numbers are copied once,
into the message, and read in place from the one that arrives.
"""

from __future__ import annotations

import pickle
import struct
from itertools import accumulate, pairwise
from typing import Any

_COUNT = struct.Struct("<q")


def encode(value: object) -> bytearray:
    """The message that holds `value`: the number of parts, their sizes, the pickle, the buffers."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(body), *(buffer.raw() for buffer in buffers)]
    sizes = struct.pack(f"<{len(parts)}q", *(part.nbytes for part in parts))
    return bytearray().join([_COUNT.pack(len(parts)), sizes, *parts])


def decode(message: memoryview) -> Any:
    """The value in a message; its arrays are views of the message."""
    (count,) = _COUNT.unpack_from(message)
    sizes = struct.unpack_from(f"<{count}q", message, _COUNT.size)
    starts = accumulate(sizes, initial=_COUNT.size * (1 + count))
    body, *buffers = (message[start:end] for start, end in pairwise(starts))
    return pickle.loads(body, buffers=buffers)
