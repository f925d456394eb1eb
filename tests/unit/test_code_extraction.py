"""Taking the program out of a completion."""

from __future__ import annotations

import pytest
from agnostics.types.code_extraction import extract_program, markdown_parts

TAGS = frozenset({"lua"})


@pytest.mark.parametrize(
    ("completion", "program"),
    [
        ("```lua\nprint(1)\n```", "print(1)\n"),
        ("Words.\n\n```lua\nprint(1)\n```\nMore words.", "print(1)\n"),
        ("```Lua\nprint(1)\n```", "print(1)\n"),
        ("```lua title=x\nprint(1)\n```", "print(1)\n"),
        ("~~~lua\nprint(1)\n~~~", "print(1)\n"),
        ("```\nprint(1)\n```", "print(1)\n"),
        ("```lua\nprint(1)", "print(1)\n"),
        ("````lua\nprint('```')\n````", "print('```')\n"),
        ("```lua\r\nprint(1)\r\n```\r\n", "print(1)\n"),
    ],
)
def test_the_program_is_the_text_of_the_block(completion: str, program: str) -> None:
    assert extract_program(completion, TAGS) == program


@pytest.mark.parametrize("completion", ["", "print(1)", "```lua\n```", "```lua\n \n```", "`print(1)`", "```"])
def test_a_completion_without_a_block_of_code_has_no_program(completion: str) -> None:
    assert extract_program(completion, TAGS) is None


def test_the_last_block_counts_because_models_draft_first() -> None:
    assert extract_program("```lua\nold\n```\n```lua\nnew\n```", TAGS) == "new\n"


def test_a_block_of_the_language_counts_before_a_later_one_of_another() -> None:
    assert extract_program("```lua\ncode\n```\nIt prints:\n```text\n42\n```", TAGS) == "code\n"


@pytest.mark.parametrize("odd", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "a\rb"])
def test_only_a_line_feed_ends_a_line(odd: str) -> None:
    assert extract_program(f"```lua\nprint('{odd}')\n```", {"lua"}) == f"print('{odd}')\n"


def test_a_carriage_return_before_a_line_feed_belongs_to_the_end_of_the_line() -> None:
    assert extract_program("```lua\r\nprint(1)\r\n```\r\n", {"lua"}) == "print(1)\n"


def test_where_white_space_is_code_a_block_of_it_is_a_program() -> None:
    assert extract_program("```ws\n \t\n  \n```", {"ws"}, lambda text: not text) == " \t\n  \n"
    assert extract_program("```ws\n \t\n  \n```", {"ws"}) is None


def test_prose_and_code_come_in_order_with_nothing_lost_but_the_fences() -> None:
    text = "First.\n\n```Lua x\nprint(1)\n```\n~~~\n`a`\n~~~\nLast\n```"
    assert list(markdown_parts(text)) == [
        (None, "First.\n\n"),
        ("lua", "print(1)\n"),
        ("", "`a`\n"),
        (None, "Last\n"),
    ]
    assert list(markdown_parts("no code")) == [(None, "no code\n")]
