"""Programs that print too much, read too little, or tamper with their standard streams; and honest ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.types.verification import Verification

Attack = Callable[..., Verification]

TEN_MEGABYTES = "1234567\n" * 1_250_000


@pytest.mark.programs(
    "endless_stdout", "endless_stderr", "endless_output_without_signal", "endless_output_of_a_child", "sparse_stdout"
)
def test_endless_output_is_stopped_at_the_cap(attack: Attack, program: str) -> None:
    result = attack(program, run_s=5.0)
    assert result.verdict == "output_limit"
    assert result.tests[0].cpu_ms < 1000


@pytest.mark.programs("count_of_bytes")
def test_output_of_exactly_the_cap_is_allowed_and_one_byte_more_is_not(attack: Attack, program: str) -> None:
    assert attack(program, given="5000000\n", output="x" * 5_000_000).accepted
    assert attack(program, given="5000001\n", output="x" * 5_000_001).verdict == "output_limit"


@pytest.mark.programs("answer_then_gigabyte_of_blanks")
def test_the_answer_and_then_a_gigabyte_of_blanks_is_output_limit(attack: Attack, program: str) -> None:
    result = attack(program, output="42", run_s=5.0)
    assert result.verdict == "output_limit"
    assert result.tests[0].cpu_ms < 1000


@pytest.mark.programs("count_of_bytes")
def test_a_right_program_that_prints_much_is_accepted(attack: Attack, program: str) -> None:
    assert attack(program, given="300000\n", output="x" * 300_000).accepted


@pytest.mark.programs("byte_by_byte")
def test_a_right_program_that_prints_byte_by_byte_is_accepted(attack: Attack, program: str) -> None:
    assert attack(program, output="x" * 5000).accepted


@pytest.mark.programs("odd_bytes")
def test_outputs_are_compared_as_bytes(attack: Attack, program: str) -> None:
    assert attack(program, output="\0\udcff\udcfe 1\udcc0\udc80").accepted
    assert attack(program, output="\0\udcff\udcff 1\udcc0\udc80").verdict == "wrong_answer"


@pytest.mark.programs("unread_input", "closed_input")
def test_a_right_program_that_leaves_ten_megabytes_unread_is_accepted(attack: Attack, program: str) -> None:
    assert attack(program, given=TEN_MEGABYTES, output="42").accepted


@pytest.mark.programs("read_past_the_end")
def test_reading_past_the_end_of_the_input_gives_nothing(attack: Attack, program: str) -> None:
    assert attack(program, given=TEN_MEGABYTES, output="10000000 0 nil", run_s=5.0).accepted


@pytest.mark.programs("copied_input")
def test_ten_megabytes_may_be_copied(attack: Attack, program: str) -> None:
    assert attack(program, given=TEN_MEGABYTES, output=TEN_MEGABYTES, run_s=5.0, output_bytes=20_000_000).accepted


@pytest.mark.programs("tamper_with_stdin")
def test_the_input_cannot_be_changed(attack: Attack, program: str) -> None:
    result = attack(program, given="1234567", output="1234567", tests=2)
    assert result.accepted, result.tests[0].stdout


@pytest.mark.programs("tamper_with_stdout", "stdout_by_mapping")
def test_the_contents_of_stdout_at_the_end_are_compared(attack: Attack, program: str) -> None:
    result = attack(program, output="42", tests=2)
    assert result.accepted, result.tests[0].stdout


@pytest.mark.programs("write_after_the_end")
def test_writes_after_the_end_do_not_count(attack: Attack, program: str) -> None:
    assert attack(program, output="42", tests=5).accepted
