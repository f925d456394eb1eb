"""Programs that look for the answers, for other programs, or for a way out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.types.verification import Verification

Attack = Callable[..., Verification]

SECRET = "a-string-that-only-the-expected-output-holds"
VARIABLES = {"HOME", "LANG", "PATH", "PWD", "TMPDIR", "HOSTNAME", "OLDPWD", "_", "SHLVL"}


@pytest.mark.programs("peek", "search_for_answers")
def test_neither_the_harness_nor_the_expected_outputs_can_be_read(attack: Attack, program: str) -> None:
    result = attack(program, output=f"0 {SECRET}", run_s=10.0)
    assert (result.verdict, result.tests[0].stdout) == ("wrong_answer", "0\n")


@pytest.mark.programs("ways_out")
def test_ways_out_of_the_sandbox_are_refused(attack: Attack, program: str) -> None:
    result = attack(program, output="end")
    assert result.accepted, result.tests[0].stdout


@pytest.mark.programs("environment")
def test_the_environment_tells_nothing_of_the_machine(attack: Attack, program: str) -> None:
    names = set(attack(program).tests[0].stdout.split())
    assert "PATH" in names
    assert names <= VARIABLES


@pytest.mark.programs("answer_as_the_harness")
def test_a_frame_printed_like_the_harnesss_own_is_only_text(attack: Attack, program: str) -> None:
    assert attack(program, output="42").verdict == "wrong_answer"


@pytest.mark.programs("own_sockets")
def test_there_is_no_network_but_sockets_of_the_program_itself(attack: Attack, program: str) -> None:
    assert attack(program, output="4").accepted


@pytest.mark.programs("rise_by_setuid")
def test_a_setuid_program_makes_nobody_root(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=5.0)
    assert result.accepted, result.tests[0].stdout
