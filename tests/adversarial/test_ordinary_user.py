"""Bubblewrap mode without root: programs run as the harness's own user, and there may be no control group."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agnostics.sandbox.backends import bubblewrap_slots
from agnostics.sandbox.harness_binary import harness_path
from agnostics.types.language import Language
from agnostics.types.task import LimitOverrides, Task, Test
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

NOBODY = 65534
TIMEOUT_S = 120

Verify = Callable[..., list[Verification]]


def _become_ordinary(harness: Path) -> None:
    """Give up root, in a process whose modules are loaded; `harness` is a copy that everybody may read."""
    os.chdir("/")
    if os.geteuid() == 0:
        vars(bubblewrap_slots)["harness_path"] = lambda: harness
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)


def _verify(language: Language, programs: list[str], task: Task) -> list[Verification]:
    """The results of programs that run one after the other in one slot."""
    with Verifier("bubblewrap", 1, languages={language.name: language}) as verifier:
        return [verifier.verify(language, program, task, stop_on_failure=False) for program in programs]


@pytest.fixture
def verify(text_of: Callable[[str], str]) -> Iterator[Verify]:
    """Verifies programs of the folder as an ordinary user, one after the other in one slot."""
    with (
        TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, get_context("fork"), _become_ordinary, (Path(folder, "harness"),)) as child,
    ):
        Path(folder).chmod(0o755)
        shutil.copy(harness_path(), Path(folder, "harness"))

        def run(language: Language, *programs: str, output: str, tests: int = 1, **limits: float) -> list[Verification]:
            overrides = LimitOverrides.model_validate({"run_s": 5.0, "memory_mb": 256, **limits})
            task = Task(id=programs[0], tests=(Test(input="", output=output),) * tests, limits=overrides)
            return child.submit(_verify, language, [text_of(name) for name in programs], task).result(TIMEOUT_S)

        yield run


def test_a_program_that_closes_its_folders_gets_an_ordinary_verdict(
    verify: Verify, writing: dict[str, Language]
) -> None:
    results = verify(writing["c"], "lock_folders.c", "leave_marks.c", "leave_marks.c", output="42", tests=2)
    assert [(result.verdict, result.attempts) for result in results] == [("accepted", 1)] * 3


def test_notes_on_the_folders_do_not_reach_the_next_program(verify: Verify, writing: dict[str, Language]) -> None:
    results = verify(writing["c"], "notes_on_folders.c", "notes_on_folders.c", output="42", tests=2)
    assert [test.stdout for result in results for test in result.tests] == ["42\n"] * 4


def test_settings_that_every_later_program_would_have_cannot_be_changed(
    verify: Verify, writing: dict[str, Language]
) -> None:
    assert [r.tests[0].stdout for r in verify(writing["c"], "settings_of_namespaces.c", output="0")] == ["0"]


def test_a_write_through_a_mapping_keeps_nothing_for_the_next_test(
    verify: Verify, writing: dict[str, Language]
) -> None:
    compile = f"{writing['c'].compile} && gcc -w -c -o notes.o snippet.c"
    language = writing["c"].model_copy(update={"compile": compile})
    (result,) = verify(language, "remember_in_product.c", output="0", tests=3)
    assert [test.stdout for test in result.tests] == ["0\n"] * 3


@pytest.mark.parametrize("program", ["leaderless_processes.c", "memory_of_children.c", "fill_shared_memory.c"])
def test_memory_over_the_limit_is_memory_limit_without_a_control_group(
    verify: Verify, writing: dict[str, Language], program: str
) -> None:
    assert [r.verdict for r in verify(writing["c"], program, output="42", memory_mb=128)] == ["memory_limit"]


def test_a_limit_that_is_not_enforced_exactly_is_named(verify: Verify, writing: dict[str, Language]) -> None:
    (result,) = verify(writing["c"], "take_most_memory.c", output="42", memory_mb=512)
    assert result.accepted
    assert "memory" in result.unenforced
