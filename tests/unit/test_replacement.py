"""Replacing lines that occur exactly once."""

from __future__ import annotations

import pytest
from agnostics.environments.tools.observation import cut
from agnostics.environments.tools.replacement import Replacement, replaced
from agnostics.environments.tools.tool import ArgumentError
from hypothesis import given
from hypothesis import strategies as st
from processor_time import processor_time_limit

MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "line"),
    [
        ("a\nb\nc\n", "b\n", "x\ny\n", "a\nx\ny\nc\n", 2),
        ("a\nb", "b\n", "x\n", "a\nx", 2),
        ("a\nb", "b\n", "", "a", 2),
        ("a\nb\n", "a\nb\n", "", "", 1),
        ("  a\na\n", "a\n", "x\n", "  a\nx\n", 2),
        ("aa\na\nba\n", "a\n", "x\n", "aa\nx\nba\n", 2),
        ("a\n\nb\n", "\n", "x\n", "a\nx\nb\n", 2),
        ("a\r\nb\n", "a\r\n", "x\n", "x\nb\n", 1),
    ],
)
def test_whole_lines_are_replaced(text: str, old: str, new: str, expected: str, line: int) -> None:
    assert replaced(text, Replacement(old, new)) == (expected, line)


@pytest.mark.parametrize(
    ("text", "old", "said"),
    [
        ("ab\n", "a\n", "occur 0 times"),
        ("", "a\n", "occur 0 times"),
        ("  a\n", "a\n", "occur 0 times"),
        ("a\nb\na\n", "a\n", "occur 2 times, at lines 1, 3;"),
        ("a\na\na", "a\na\n", "occur 2 times, at lines 1, 2;"),
        ("a\n" * 11, "a\n", "occur more than 10 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;"),
    ],
)
def test_lines_that_do_not_occur_once_are_counted(text: str, old: str, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        replaced(text, Replacement(old, "x\n"))


@given(st.lists(st.sampled_from(["a", "b", " a", ""])), st.lists(st.sampled_from(["a", "b"]), min_size=1))
def test_lines_are_found_as_in_a_list_of_lines(lines: list[str], old: list[str]) -> None:
    places = [at for at in range(len(lines)) if lines[at : at + len(old)] == old]
    text, search = "".join(f"{line}\n" for line in lines), "".join(f"{line}\n" for line in old)
    if len(places) == 1:
        (at,) = places
        expected = [*lines[:at], "x", *lines[at + len(old) :]]
        assert replaced(text, Replacement(search, "x\n")) == ("".join(f"{line}\n" for line in expected), at + 1)
    else:
        with pytest.raises(ArgumentError):
            replaced(text, Replacement(search, "x\n"))


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a\n" * (5 * MEGABYTE), "a\n" * MEGABYTE),
        ("a" * (5 * MEGABYTE), "a" * MEGABYTE + "\n"),
        ("a\n" * (5 * MEGABYTE), "a\n" * MEGABYTE + "b\n"),
    ],
)
def test_no_text_takes_quadratic_time(text: str, old: str) -> None:
    with processor_time_limit(10), pytest.raises(ArgumentError):
        replaced(text, Replacement(old, ""))


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_text_is_cut_in_the_middle_and_says_by_how_much(text: str, characters: int) -> None:
    shown = cut(text, characters)
    if len(text) <= characters:
        assert shown == text
    else:
        note = f"\n[{len(text) - characters} characters are left out here]\n"
        head, _, tail = shown.partition(note)
        assert (len(head + tail), text.startswith(head), text.endswith(tail)) == (characters, True, True)
