"""Messages between ranks: segments arrive bit for bit as they were sampled, their numbers outside the pickle."""

from __future__ import annotations

import copy
import pickle
import struct

import pytest
from agnostics.types.rollout import Segment
from agnostics.util.messages import decode, encode
from hypothesis import example, given
from hypothesis import strategies as st

INT32, INT64 = 2**31, 2**63
TINY = 5e-324
"""The smallest float64; float32 has only 0 near it."""
tokens = st.tuples(
    st.integers(-INT64, INT64 - 1),
    st.integers(0, 1),
    st.floats() | st.floats(width=32),
    st.integers(0, INT32),
)


def _segment(rows: list[tuple[int, int, float, int]]) -> Segment:
    token_ids, mask, logprobs, versions = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Segment(token_ids, mask, logprobs, versions)


def _bits(segment: Segment) -> tuple[object, ...]:
    """The fields, with the bits of each log-probability."""
    logprobs = [struct.pack("d", logprob) for logprob in segment.logprobs]
    return segment.token_ids, segment.mask, logprobs, segment.policy_versions


@given(st.lists(st.lists(tokens, max_size=6), max_size=4))
@example([[(151_935, 1, -0.0, 0), (0, 1, float("-inf"), 256), (7, 0, 0.0, 70_000)]])
@example([[(1, 1, TINY, 0)], [(1, 1, -TINY, 0)], [(1, 1, -1e300, 0)], [(1, 1, float("nan"), 0)], []])
@example([[(1, 1, 2.0**-149, 0), (-1, 1, -0.1, 0)]])
def test_segments_arrive_as_they_were_sent(rows: list[list[tuple[int, int, float, int]]]) -> None:
    segments = [_segment(each) for each in rows]
    in_band = [pickle.loads(pickle.dumps(segments, protocol)) for protocol in (4, 5)]
    for arrived in (decode(memoryview(encode(segments))), copy.deepcopy(segments), *in_band):
        assert list(map(_bits, arrived)) == list(map(_bits, segments))


@pytest.mark.parametrize(
    ("logprob", "token_bytes"),
    [(-0.5, 4 + 1 + 4 + 1), (-0.1, 4 + 1 + 8 + 1)],
    ids=["of an engine, in float32", "in float64"],
)
def test_a_token_takes_as_many_bytes_as_its_numbers_need(logprob: float, token_bytes: int) -> None:
    def size(count: int) -> int:
        return len(encode([Segment.sampled([151_000] * count, [logprob] * count, [3] * count), "text"]))

    assert size(3000) - size(1000) == 2000 * token_bytes


def test_what_is_no_number_arrives_too() -> None:
    value = {"text": "é" * 300, "none": None, "segments": (Segment.sampled([1], [-1.0], [0]),), "buffer": bytearray(9)}
    assert decode(memoryview(encode(value))) == value
    assert decode(memoryview(encode(None))) is None
