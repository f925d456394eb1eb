"""All checks of a language: its contract, its reference programs, and shortcut probes at the same tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agnostics.testing.contract import UNHURRIED_S, contract_expectations
from agnostics.testing.expectations import Expectation, ExpectationResult, check_all, exactly
from agnostics.testing.shell import printing_program
from agnostics.testing.shortcut_probes import MILLION, shortcut_outputs
from agnostics.testing.traces import check_trace
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier

_TRACING_MODES = ("docker", "bubblewrap", "process")


def check_language(language: Language, tasks: Iterable[Task], verifier: Verifier) -> Iterator[ExpectationResult]:
    """Check the contract of `language`, its reference program for the first of `tasks` of each kind, and shortcuts.

    Raises MissingRequirement if its programs cannot be run on this machine.
    """
    yield from check_all(contract_expectations(language), verifier)
    if language.trace and verifier.mode in _TRACING_MODES:
        yield check_trace(language, verifier.mode)
    solvable = list(_first_of_each_kind(language, tasks))
    yield from check_all((_reference(language, task) for task in solvable), verifier)
    yield from check_all(_shortcuts(language, solvable), verifier)


def _first_of_each_kind(language: Language, tasks: Iterable[Task]) -> Iterator[Task]:
    wanted = set(language.reference)
    for task in tasks if wanted else ():
        if task.family in wanted:
            wanted.remove(task.family)
            yield _with_ample_time(task)
        if not wanted:
            return


def _with_ample_time(task: Task) -> Task:
    """`task` with a generous time limit, so that the load of the machine decides nothing."""
    return task.model_copy(update={"limits": task.limits.model_copy(update={"run_s": UNHURRIED_S})})


def _reference(language: Language, task: Task) -> Expectation:
    program = language.reference_for(task)
    assert program is not None  # `_first_of_each_kind` yields only tasks with one
    text = f"the reference program for {task.family} is accepted"
    return Expectation("reference", text, language, program, task, exactly("accepted"))


def _shortcuts(language: Language, tasks: Iterable[Task]) -> Iterator[Expectation]:
    for task in tasks:
        for label, output, single in shortcut_outputs(task):
            shell, program = printing_program(language, output)
            text = f"{label} at {task.family} is wrong"
            yield Expectation("shortcut", text, shell, program, single, exactly("wrong_answer"))
    shell, program = printing_program(language, "1000001\n")
    text = "an integer off by one in a million is wrong"
    yield Expectation("shortcut", text, shell, program, MILLION, exactly("wrong_answer"))
