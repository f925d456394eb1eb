"""The esoteric languages in `agn` and in the sandbox."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier
from agnostics_lang_esolangs.interpreter import INTERPRETERS, EsoLanguage, interpreter_path


def agn(*words: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from agnostics.cli import main; main()", *words]
    return subprocess.run(command, input=given, capture_output=True, timeout=60, check=False)


def test_a_program_can_be_run_by_hand(tmp_path: Path) -> None:
    file = tmp_path / "echo.bf"
    file.write_text("+,.")
    assert agn("esolang", "brainfuck", file, given=b"x").stdout == b"x"
    assert agn("esolang", "brainfuck", file).stdout == b"\x00"
    assert agn("esolang", "brainfuck", file, "--dialect", "standard").stdout == b"\x01"
    assert agn("esolang", "brainfuck", file, "--steps", "2").returncode == -signal.SIGXCPU


def test_an_error_is_printed(tmp_path: Path) -> None:
    file = tmp_path / "a.bf"
    file.write_text("[")
    unknown, missing, invalid = (
        agn("esolang", "brainfork", file),
        agn("esolang", "unlambda", "no.unl"),
        agn("esolang", "brainfuck", file),
    )
    assert (unknown.returncode, unknown.stderr) == (
        2,
        b"agn: unknown language 'brainfork'; did you mean 'brainfuck'?\n",
    )
    assert (missing.returncode, missing.stderr) == (2, b"agn: no.unl: no such file\n")
    assert (invalid.returncode, invalid.stderr) == (1, b"line 1, column 1: '[' without its partner\n")


@pytest.fixture(scope="module")
def esolangs() -> dict[str, Language]:
    return {name: made for name, made in load_plugins().languages().items() if isinstance(made, EsoLanguage)}


def test_every_language_is_provided_and_its_standard_dialect_if_it_differs(esolangs: dict[str, Language]) -> None:
    assert sorted(esolangs) == sorted(
        [*INTERPRETERS, *(f"{name}-standard" for name in INTERPRETERS if name != "unlambda")]
    )


def test_the_dialect_is_named_in_the_prompt_and_passed_to_the_interpreter(esolangs: dict[str, Language]) -> None:
    for name in INTERPRETERS:
        assert esolangs[name].prompt.startswith("## ")
        assert esolangs[name].execute_argv()[:2] != ["./interpreter", "--dialect"]
    for name in (name for name in esolangs if name.endswith("-standard")):
        assert "standard" in esolangs[name].prompt.splitlines()[-1]
        assert esolangs[name].execute_argv()[:3] == ["./interpreter", "--dialect", "standard"]


def test_a_missing_interpreter_is_reported_with_the_command_that_builds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "abacus")
    with pytest.raises(MissingRequirement, match=r"brainfuck-abacus.*; run: pip install"):
        interpreter_path("brainfuck")


def test_verdicts_of_the_sandbox(mode: str, esolangs: dict[str, Language]) -> None:
    task = Task(id="echo", tests=(Test(input="a\n", output="a\n"),))
    programs = {"accepted": ",[.>,]", "wrong_answer": "+.", "time_limit": "+[]", "runtime_error": "<"}
    with Verifier(mode, 1, languages=esolangs) as verifier:
        found = {
            verdict: verifier.verify(esolangs["brainfuck"], program, task) for verdict, program in programs.items()
        }
    assert {verdict: found[verdict].verdict for verdict in found} == {verdict: verdict for verdict in programs}
    assert found["time_limit"].tests[0].signal == signal.SIGXCPU
    assert "below cell 0" in found["runtime_error"].tests[0].stderr


def test_white_space_is_a_program_only_in_whitespace() -> None:
    answer = "The end:\n```whitespace\n\n\n\n```\n"
    whitespace, brainfuck = load_plugins().language("whitespace"), load_plugins().language("brainfuck")
    assert (whitespace.program_in(answer), brainfuck.program_in(answer)) == ("\n\n\n", None)
    task = Task(id="end", tests=(Test(input="", output=""),))
    with Verifier("bubblewrap", 1) as verifier:
        assert verifier.verify(whitespace, "\n\n\n", task).verdict == "accepted"
        assert verifier.verify(brainfuck, "\n\n\n", task).verdict == "no_program"
