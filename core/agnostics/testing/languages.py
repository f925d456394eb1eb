"""All that is tried of a language: its contract, its right programs for tasks, and cheats at the same tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agnostics.testing.contract import PATIENCE_S, contract_cases
from agnostics.testing.expectations import Case, Claim, only, try_all
from agnostics.testing.shell import printing
from agnostics.testing.shortcut_probes import MILLION, cheats_at
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.verify import Verifier


def check_language(language: Language, tasks: Iterable[Task], verifier: Verifier) -> Iterator[Claim]:
    """Try the contract of `language`, its right program for the first of `tasks` of each family, and cheats at these.

    Raises MissingRequirement where its programs cannot be run here.
    """
    yield from try_all(contract_cases(language), verifier)
    solvable = list(_first_of_each_kind(language, tasks))
    yield from try_all((_right(language, task) for task in solvable), verifier)
    yield from try_all(_cheats(language, solvable), verifier)


def _first_of_each_kind(language: Language, tasks: Iterable[Task]) -> Iterator[Task]:
    wanted = set(language.reference)
    for task in tasks if wanted else ():
        if task.family in wanted:
            wanted.remove(task.family)
            yield _patient(task)
        if not wanted:
            return


def _patient(task: Task) -> Task:
    """`task` with time to spare: a pack is judged by what its programs do, however busy the machine is."""
    return task.model_copy(update={"limits": task.limits.model_copy(update={"run_s": PATIENCE_S})})


def _right(language: Language, task: Task) -> Case:
    program = language.reference_for(task)
    assert program is not None  # only tasks of families with a right program get here
    return Case("right", f"the right program for {task.family} is accepted", language, program, task, only("accepted"))


def _cheats(language: Language, tasks: Iterable[Task]) -> Iterator[Case]:
    for task in tasks:
        for what, output, single in cheats_at(task):
            shell, program = printing(language, output)
            yield Case("cheat", f"{what} at {task.family} is wrong", shell, program, single, only("wrong_answer"))
    shell, program = printing(language, "1000001\n")
    text = "an integer off by one in a million is wrong"
    yield Case("cheat", text, shell, program, MILLION, only("wrong_answer"))
