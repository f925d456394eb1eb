"""The prompt of a session: the same for every player, with what its protocol changes."""

from __future__ import annotations

from typing import Any

import pytest
from agnostics.referee.problem import Problem
from agnostics.referee.prompt import session_prompt, tool_prompt
from agnostics.referee.protocol import Protocol, load_protocol
from agnostics.types.language import Language
from agnostics.types.task import Task, Test

SECRET = "the hidden expected output"
PROBLEMS = [
    Problem(
        Task(id=name, statement=f"Statement of {name}.", difficulty=tier, tests=(Test(input="1", output=SECRET),)),
        unsolvable="no input can be read",
    )
    for name, tier in (("E01", "easy"), ("E02", "easy"), ("X01", "extra_hard"))
]
LANGUAGE = Language(name="bf", prompt="## Card\nThe card of the language.\n", filename="a.bf", execute="bf a.bf")


def prompt(**changes: Any) -> str:
    return session_prompt(LANGUAGE, Protocol(name="p", **changes), PROBLEMS)


def test_it_has_the_commands_the_rules_the_scoring_and_ends_with_the_languages_card() -> None:
    text = prompt()
    headings = [line for line in text.splitlines() if line.startswith("#")]
    expected = ["# 3 problems in bf", "## Commands", "## Rules", "## Moving on", "## Scoring", "## Card"]
    assert headings == expected
    assert text.endswith("The card of the language.\n")
    assert "2 easy, 1 extra hard" in text
    for command in ("fetch", "run FILE.bf", "submit PROBLEM FILE.bf", "status", "skip", "export"):
        assert f"`session {command}" in text


def test_it_shows_no_problem_no_test_and_not_what_is_known_to_be_unsolvable() -> None:
    for secret in (SECRET, "Statement of", "E01", "no input can be read"):
        assert secret not in prompt()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"submissions": 1}, "1 submission a problem"),
        ({"runs": 5}, "There are 5 runs for each problem"),
        ({"feedback": "verdicts"}, "returns PASS, WRONG ANSWER or RUNTIME ERROR for each hidden test"),
        ({"host_language": "none"}, "there is no other language in the box"),
        ({"host_language": "javascript"}, "Write programs in JavaScript that generate the bf files"),
        ({"advice": "Build a table of cells."}, "## Advice\n\nBuild a table of cells."),
        ({"library": True}, "Read `reference_lib/README.md` first"),
        ({"skip": "always"}, "You may skip a problem at any time"),
    ],
)
def test_it_says_what_a_protocol_changes_and_else_does_not(changes: dict[str, Any], said: str) -> None:
    assert said in prompt(**changes)
    assert said not in prompt()


def test_a_command_that_is_always_refused_is_not_named() -> None:
    assert "session skip" not in prompt(skip="never")


def test_a_player_without_a_shell_is_told_of_its_tools_and_of_no_command() -> None:
    text = tool_prompt(LANGUAGE, Protocol(name="p", runs=3), PROBLEMS)
    for tool in ("fetch", "write_file", "run", "submit", "status", "skip", "read_file"):
        assert f"| `{tool}` |" in text
    assert "session fetch" not in text
    assert "at most 3 times for each problem" in text
    assert "| `skip` |" not in tool_prompt(LANGUAGE, Protocol(name="p", skip="never"), PROBLEMS)
    commands, tools = (other.partition("\n## Rules")[2] for other in (prompt(runs=3), text))
    assert commands == tools


def test_the_advice_of_the_presets_stands_in_their_prompts() -> None:
    text = session_prompt(LANGUAGE, load_protocol("library"), PROBLEMS)
    assert "## Advice\n\nTreat a language that you know as a compiler." in text
    assert "## Library" in text
