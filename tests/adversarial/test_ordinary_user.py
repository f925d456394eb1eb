"""Bubblewrap mode without root, beside what all attacks show in it: where the kernel lets its user make no mounts, and
which limits it cannot enforce."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from agnostics.sandbox.backends import bubblewrap_slots
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from ordinary_user import OrdinaryUserBackend

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs the other tests as one")

Verify = Callable[..., list[Verification]]


@pytest.fixture
def verify(text_of: Callable[[str], str]) -> Verify:
    """Verifies programs of the folder as an ordinary user, one after the other in one slot."""

    def run(language: Language, *programs: str, output: str, tests: int = 1, **limits: float) -> list[Verification]:
        overrides = LimitOverrides.model_validate({"run_s": 5.0, "memory_mb": 256, **limits})
        task = Task(id=programs[0], tests=(Test(input="", output=output),) * tests, limits=overrides)
        backend = OrdinaryUserBackend()
        with Verifier(backend.name, 1, {language.name: language}, {backend.name: backend}) as verifier:
            return [verifier.verify(language, text_of(name), task, stop_on_failure=False) for name in programs]

    return run


@pytest.fixture
def without_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slots in which the harness can make no user namespace, and so no mounts."""
    arguments = bubblewrap_slots._user_args
    monkeypatch.setattr(bubblewrap_slots, "_user_args", lambda: [*arguments(), "--disable-userns"])


@pytest.fixture
def keeping_notes(writing: dict[str, Language]) -> Language:
    """C with a file beside the program that the compiler has made, too."""
    compile = f"{writing['c'].compile} && gcc -w -c -o notes.o snippet.c"
    return writing["c"].model_copy(update={"compile": compile})


def test_what_the_compiler_made_cannot_be_opened_for_writing(verify: Verify, keeping_notes: Language) -> None:
    (result,) = verify(keeping_notes, "remember_in_product.c", output="closed", tests=3)
    assert result.accepted, [test.stdout for test in result.tests]


@pytest.mark.usefixtures("without_mounts")
def test_without_mounts_a_write_through_a_mapping_keeps_nothing_for_the_next_test(
    verify: Verify, keeping_notes: Language
) -> None:
    (result,) = verify(keeping_notes, "remember_in_product.c", output="0", tests=3)
    assert [test.stdout for test in result.tests] == ["0\n"] * 3


@pytest.mark.usefixtures("without_mounts")
@pytest.mark.parametrize("program", ["execute_from_memory.c", "lock_folders.c", "notes_on_folders.c", "leave_marks.c"])
def test_without_mounts_nothing_is_left_for_the_next_program(
    verify: Verify, writing: dict[str, Language], program: str
) -> None:
    results = verify(writing["c"], program, program, output="42", tests=2)
    assert [(result.verdict, result.attempts) for result in results] == [("accepted", 1)] * 2


def test_a_limit_that_is_not_enforced_exactly_is_named(verify: Verify, writing: dict[str, Language]) -> None:
    (result,) = verify(writing["c"], "take_most_memory.c", output="42", memory_mb=512)
    assert result.accepted
    assert "memory" in result.unenforced
