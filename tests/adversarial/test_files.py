"""Programs that leave files, and programs that try to change the files of others."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from agnostics.types.verification import Verification

Attack = Callable[..., Verification]


@pytest.mark.programs("litter", "deep_folders", "leave_marks", "own_notes")
def test_files_of_a_test_are_gone_before_the_next(attack: Attack, program: str) -> None:
    result = attack(program, output="42", tests=3)
    assert result.accepted, [test.stdout for test in result.tests]


@pytest.mark.programs("leave_marks", "notes_on_folders", "lock_folders")
def test_one_program_finds_nothing_of_the_one_before(attack: Attack, program: str) -> None:
    assert attack(program, output="42").accepted
    assert attack(program, output="42").accepted


@pytest.mark.programs("million_files")
def test_a_million_files_hit_the_limit_and_are_removed(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=10.0).accepted


@pytest.mark.programs("full_disk")
def test_a_full_disk_fails_only_the_program_that_filled_it(attack: Attack, program: str) -> None:
    assert attack(program, output="42", run_s=10.0, memory_mb=512).accepted


@pytest.mark.programs("overwrite")
def test_files_of_the_sandbox_cannot_be_changed(attack: Attack, program: str) -> None:
    result = attack(program, output="42", tests=2)
    assert result.accepted, result.tests[0].stdout
