"""Untrusted text is escaped and bounded, and differences are located as the comparison located them."""

from __future__ import annotations

import pytest
from agnostics.web.difference import difference_spans
from agnostics.web.escaping import Excerpt, excerpt, excerpt_around, name, plain, visible


def test_markup_and_invisible_characters_are_shown_by_name() -> None:
    assert visible("<script>\n\tä") == "&lt;script&gt;\n\tä"
    shown = str(visible("a\u202eb\x1b[0m\r\u200b"))
    assert "RIGHT-TO-LEFT OVERRIDE" in shown
    assert all(symbol in shown for symbol in ("U+202E", "␛", "␍", "U+200B"))
    assert not any(character in shown for character in "\u202e\x1b\r\u200b")


def test_names_are_short_and_titles_hold_no_control_character() -> None:
    assert len(name("m" * 5000)) == 121
    assert plain("a\u202e\nb") == "a��b"


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "index", "found"),
    [
        ("tokens", "1 2\n3", "1\n2 4 5", 2, ("3", "4")),
        ("tokens", "1 2", "1", 1, ("2", "")),
        ("floats", "0.5 0.25", "0.5 0.2", 1, ("0.25", "0.2")),
        ("lines", "a\nb c\nd", "a\nb  c\nd", 1, ("b c\n", "b  c\n")),
        ("exact", "a\nbcd\ne", "a\nbxd\ne", 0, ("cd\n", "xd\n")),
        ("exact", "ab", "abc\n", 0, ("", "c\n")),
    ],
)
def test_the_first_difference_is_found_in_both_texts(
    mode: str, expected: str, actual: str, index: int, found: tuple[str, str]
) -> None:
    there, here = difference_spans(expected, actual, mode, index)
    assert (expected[slice(*there)], actual[slice(*here)]) == found


def test_an_excerpt_of_a_long_text_surrounds_its_span() -> None:
    text = "x" * 5000 + "HERE" + "y" * 5000
    assert excerpt("short", most=10) == Excerpt("short")
    assert excerpt(text, most=100) == Excerpt("x" * 100, left=len(text) - 100)
    shown = excerpt_around(text, "here", 100)
    assert (shown.marked, len(shown.before), len(shown.after)) == ("HERE", 10, 86)
    assert shown.skipped + len(shown.before + shown.marked + shown.after) + shown.left == len(text)
