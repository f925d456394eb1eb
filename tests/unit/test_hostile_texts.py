"""Texts that models and programs write are read in linear time, and as before."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from agnostics.analysis import failure_clusters
from agnostics.analysis.failure_clusters import message_template
from agnostics.analysis.reward_hacking import detectors
from agnostics.complexity import complexity_in
from agnostics.environments.termination import claim_in
from agnostics.types import code_extraction
from agnostics.types.code_extraction import extract_program, strip_reasoning
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_time_limit

SIMPLE_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\r\n]*)$")
SIMPLE_EXIT = re.compile(r"\b(?:(?:os|sys|process)\.exit|exit|quit|_exit|halt|q)\s*\(\s*(?:0|true)?\s*\)")
SIMPLE_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
SIMPLE_BEFORE_QUOTE = re.compile(r"([^\W\d]\w*) ['\"`\u2018]")
MEGABYTE = 1_000_000


@given(st.text(alphabet="`~ \t\ra", max_size=30))
def test_a_line_is_a_fence_exactly_if_it_matches_the_simple_pattern(line: str) -> None:
    simple, match = SIMPLE_FENCE.match(line), code_extraction._FENCE.match(line)
    assert (match and match.groupdict()) == (simple and simple.groupdict())


@given(st.lists(st.sampled_from(["exit", "q", "os.", " ", "\n", "(", ")", "0", "true", "x"]), max_size=12).map("".join))
def test_a_call_ends_a_program_exactly_if_it_matches_the_simple_pattern(program: str) -> None:
    assert detectors._EXIT.findall(program) == SIMPLE_EXIT.findall(program)


@given(st.text(alphabet="10.+-eE", max_size=12))
def test_a_token_is_a_float_exactly_if_it_matches_the_simple_pattern(token: str) -> None:
    assert bool(detectors._FLOAT.fullmatch(token)) == bool(SIMPLE_FLOAT.fullmatch(token))


@given(st.text(alphabet="ab_19 '`.", max_size=20))
def test_a_word_is_before_a_quotation_exactly_if_it_matches_the_simple_pattern(line: str) -> None:
    assert failure_clusters._BEFORE_QUOTE.findall(line) == SIMPLE_BEFORE_QUOTE.findall(line)


@pytest.mark.parametrize(
    "read",
    [
        lambda: extract_program("`" * MEGABYTE + "\rprint(42)", {"lua"}),
        lambda: extract_program("~" * MEGABYTE + "\r", {"lua"}),
        lambda: extract_program("```" + " " * MEGABYTE + "\r", {"lua"}),
        lambda: extract_program("```" + "\t " * MEGABYTE + "\r", {"lua"}),
        lambda: extract_program("```lua\n" + "`\r" * MEGABYTE, {"lua"}),
        lambda: extract_program("```\n" * (MEGABYTE // 4), {"lua"}),
        lambda: strip_reasoning("<think>" * (MEGABYTE // 7)),
        lambda: strip_reasoning("[THINK]" * (MEGABYTE // 7)),
        lambda: claim_in(" " * MEGABYTE + "x"),
        lambda: claim_in("#T " * (MEGABYTE // 3) + "x"),
        lambda: complexity_in("O(" + "(n)" * (MEGABYTE // 3)),
        lambda: detectors._EXIT.search("exit(" + " " * MEGABYTE),
        lambda: detectors._EXIT.search("exit" + " " * MEGABYTE),
        lambda: detectors._FLOAT.fullmatch("1" * MEGABYTE + "x"),
        lambda: failure_clusters._BEFORE_QUOTE.findall("a" * MEGABYTE),
        lambda: message_template("/a+" * (MEGABYTE // 3), ()),
        lambda: message_template("1" * MEGABYTE, ()),
        lambda: message_template("'" * MEGABYTE, ()),
    ],
)
def test_a_megabyte_is_read_without_taking_quadratic_time(read: Callable[[], object]) -> None:
    with processor_time_limit(10):
        read()
