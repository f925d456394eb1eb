"""The player `replay`: its files and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agnostics.players.replay import Move, Replay, moves_of_file
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.util.settings import parse_options, with_options


def test_a_line_is_a_submission_after_the_runs_on_its_inputs(tmp_path: Path) -> None:
    file = tmp_path / "programs.jsonl"
    file.write_text(
        '{"problem": "E01", "program": "+", "inputs": ["1", "2"]}\n\n'
        '{"problem": "E02", "program": "."}\n{"problem": "E01", "program": "\\udcff"}\n'
    )
    assert moves_of_file(file) == {
        "E01": [Move("+", "1"), Move("+", "2"), Move("+"), Move("\udcff")],
        "E02": [Move(".")],
    }


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not a line of JSON"),
        ("[]", "Input should be"),
        ('{"problem": "E01"}', "program: Field required"),
        ('{"problem": "E01", "program": 5}', "program: Input should be a valid string"),
        ('{"problem": "E01", "program": "", "imputs": []}', "imputs: Extra inputs"),
        ("\udcff", "not a line of JSON"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "programs.jsonl"
    file.write_bytes(b'{"problem": "E01", "program": "+"}\n' + line.encode(errors="surrogateescape"))
    with pytest.raises(UsageError, match=message) as error:
        moves_of_file(file)
    assert str(error.value).startswith(f"{file}:2: ")


@pytest.mark.parametrize("options", [{}, {"programs": "a", "session": "b"}])
def test_it_needs_one_source_of_programs(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="needs either --set programs=FILE or --set session=NAME"):
        Replay(**options).check_requirements()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["programmes=x"], "unknown option of the player 'replay' 'programmes'; did you mean 'programs'?"),
        (["programs=5"], "--set programs: Input should be a valid string, got 5"),
        (["programs"], "--set programs: expected name=value"),
        (["=x"], "--set =x: expected name=value"),
    ],
)
def test_an_option_that_does_not_fit_is_an_error_in_one_line(options: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        with_options(load_plugins().player("replay"), "player 'replay'", "--set ", parse_options(options))
    assert str(error.value) == message


def test_a_file_that_exists_is_named_by_its_absolute_path(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "programs.jsonl").write_text("")
    monkeypatch.chdir(tmp_path)
    assert Replay(programs="programs.jsonl").programs == str(tmp_path / "programs.jsonl")
