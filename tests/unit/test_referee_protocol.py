"""Protocols as data: the presets, files of one's own, and what is wrong in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agnostics.referee.protocol import Protocol, load_protocol, protocol_names
from agnostics.types.errors import UsageError

PRIMARY = {
    "submissions": 3,
    "runs": None,
    "feedback": "count",
    "host_language": "any",
    "advice": "",
    "library": False,
    "skip": "after_submissions",
    "output_tokens": 32768,
}
CHANGES: dict[str, dict[str, Any]] = {
    "primary": {},
    "controlled": {"runs": 3, "submissions": 1},
    **{f"budget-{runs}": {"runs": runs} for runs in (3, 5, 15, 30)},
    "no-meta": {"host_language": "none"},
    "host-python": {"host_language": "python"},
    "host-js": {"host_language": "javascript"},
    "host-rust": {"host_language": "rust"},
}
"""What each preset changes of the primary protocol, as appendix A says."""


@pytest.mark.parametrize("name", CHANGES)
def test_a_preset_is_the_primary_protocol_but_for_what_the_paper_changes(name: str) -> None:
    assert load_protocol(name).model_dump() == {"name": name, **PRIMARY, **CHANGES[name]}


def test_the_presets_for_strategy_transfer_share_their_advice_and_one_has_the_library() -> None:
    text, library = load_protocol("text"), load_protocol("library")
    assert text.advice
    assert text.model_dump() == {"name": "text", **PRIMARY, "advice": text.advice}
    assert library.model_dump() == {**text.model_dump(), "name": "library", "library": True}


def test_every_preset_is_named_here() -> None:
    assert set(protocol_names()) == {*CHANGES, "text", "library"}


def test_a_file_of_ones_own_is_a_protocol_named_after_the_file(tmp_path: Path) -> None:
    file = tmp_path / "strict.yaml"
    file.write_text("submissions: 2\nfeedback: verdicts\nskip: never\noutput_tokens: null\n")
    expected = Protocol(name="strict", submissions=2, feedback="verdicts", skip="never", output_tokens=None)
    assert load_protocol(str(file)) == expected


def test_an_empty_file_is_the_primary_protocol_under_another_name(tmp_path: Path) -> None:
    file = tmp_path / "plain.yaml"
    file.write_text("")
    assert load_protocol(str(file)) == Protocol(name="plain")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("submisions: 2", "unknown key 'submisions'; did you mean 'submissions'?"),
        ("submissions: 0", "submissions: Input should be greater than or equal to 1"),
        ("runs: -1", "runs: Input should be greater than or equal to 0"),
        ("runs: many", "runs: Input should be a valid integer"),
        ("feedback: all", "feedback: Input should be 'count' or 'verdicts'"),
        ("host_language: perl", "host_language: Input should be 'any', 'none', 'python', 'javascript' or 'rust'"),
        ("skip: sometimes", "skip: Input should be 'after_submissions', 'always' or 'never'"),
        ("name: A B", "name: String should match pattern"),
        ("1: 2", "unknown key '1'"),
        ("- submissions", "expected a mapping"),
        ("a: [", "not a readable YAML file"),
    ],
)
def test_a_mistake_in_a_file_is_one_line_with_the_file_and_the_key(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        load_protocol(str(file))
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "message"), [("primery", "did you mean 'primary'?"), ("none.yaml", "No such file")])
def test_an_unknown_protocol_is_an_error(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        load_protocol(name)
