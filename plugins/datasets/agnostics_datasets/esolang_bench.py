"""The `esolang-bench` adapter: EsoLang-Bench, 80 small problems for languages that are rare in training data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from agnostics import Comparison, Dataset, Task, Test, UsageError, unknown_name_error
from pydantic import BaseModel, Field, ValidationError

if TYPE_CHECKING:
    from agnostics_datasets.esolang_references.reference import Reference

COMPARE = Comparison(mode="lines")


class EsolangBench(Dataset):
    """The problems of EsoLang-Bench (Sharma and Chopra, 2026, arXiv 2603.09678) from its `esolang_benchmark.json`.

    80 problems of 6 tests, 20 each easy, medium, hard and extra hard, under the MIT licence. As it is a
    benchmark, every task is in the split "test". The categories of a problem are its tags.

    Outputs are compared as `lines`. The benchmark strips trailing white space from both sides and compares the rest, so
    leading and inner spaces count ("   spaces" must be echoed), which `tokens` would ignore; the expected outputs have
    one line and no newline, so that `lines` is equivalent. Its further leniency, any integer in the output for an
    expected integer, is not implemented: the tasks ask for a plain integer without other text.
    """

    name: ClassVar[str] = "esolang-bench"
    description: ClassVar[str] = "EsoLang-Bench: 80 small problems of 6 tests, for languages that models hardly know."
    license: ClassVar[str] = "MIT"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    size: ClassVar[str] = "80 problems of 6 tests"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "title, description": "statement",
        "input_output_examples": "tests, compared as lines",
        "difficulty": "difficulty",
        "metadata.problem_categories": "tags",
    }

    def tasks(self, split: str, *, source: str | None = None, seed: int = 0) -> Iterator[Task]:
        """The tasks of the split "test", in the order of the file; see `Dataset.tasks`."""
        if split not in self.splits:
            raise unknown_name_error("split", split, self.splits)
        if source is None:
            raise UsageError("the data set 'esolang-bench' needs its file: esolang-bench:esolang_benchmark.json")
        return _tasks(_read(Path(source)), source)

    def reseal(self, task: Task, seed: int) -> Task:
        """The task with as many fresh tests as it has; see `Dataset.reseal`.

        The inputs are new as long as there are new ones (N! up to 10 has too few), and E01, which has no input, keeps
        its tests: `fresh_tests` of the metadata says how many tests are new.
        """
        reference = _reference(task)
        tests = reference.fresh_tests(task.tests, Random(f"esolang-bench/{seed}/{task.id}"))
        published = {test.input for test in task.tests}
        fresh = sum(test.input not in published for test in tests)
        metadata = {**task.metadata, "reseal_seed": seed, "fresh_tests": fresh}
        return task.model_copy(update={"tests": tests, "metadata": metadata})


class _Problem(BaseModel):
    """A problem in the format of the file."""

    id: Annotated[str, Field(min_length=1)]
    difficulty: Literal["easy", "medium", "hard", "extra_hard"]
    title: Annotated[str, Field(min_length=1)]
    description: Annotated[str, Field(min_length=1)]
    input_output_examples: Annotated[list[Test], Field(min_length=1)]


class _Metadata(BaseModel):
    problem_categories: dict[str, list[str]] = {}


class _Benchmark(BaseModel):
    """The format of the file: categories list the ids of their problems."""

    metadata: _Metadata = _Metadata()
    problems: Annotated[list[_Problem], Field(min_length=1)]


def _read(path: Path) -> _Benchmark:
    try:
        data = json.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a JSON file: {error}") from error
    try:
        return _Benchmark.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {_place(first['loc'], data)}: {first['msg']}") from error


def _place(keys: tuple[int | str, ...], data: object) -> str:
    """The location of a validation error in the file: the problem's id, if it has one, and the keys within it."""
    if keys[:1] != ("problems",) or len(keys) < 2 or not isinstance(data, dict):
        return ".".join(map(str, keys)) or "the whole"
    problem = data["problems"][int(keys[1])]
    known = problem.get("id") if isinstance(problem, dict) else None
    named = repr(known) if isinstance(known, str) and known else f"number {int(keys[1]) + 1}"
    return ": ".join([f"problem {named}", *filter(None, [".".join(map(str, keys[2:]))])])


def _tasks(benchmark: _Benchmark, source: str) -> Iterator[Task]:
    (commonest, count), *_ = Counter(problem.id for problem in benchmark.problems).most_common(1)
    if count > 1:
        raise UsageError(f"{source}: problem {commonest!r}: {count} problems have this id; ids must differ")
    categories = benchmark.metadata.problem_categories
    return (_task(problem, categories) for problem in benchmark.problems)


def _task(problem: _Problem, categories: dict[str, list[str]]) -> Task:
    return Task(
        id=problem.id,
        statement=f"{problem.title}\n\n{problem.description}",
        tests=tuple(problem.input_output_examples),
        compare=COMPARE,
        tags=tuple(category for category, ids in categories.items() if problem.id in ids),
        difficulty=problem.difficulty,
    )


def _reference(task: Task) -> Reference:
    """The reference solution of the task, which reproduces all its outputs. Raises UsageError if there is none."""
    from agnostics_datasets.esolang_references import REFERENCES  # every `agn` command imports every adapter

    if task.id not in REFERENCES:
        raise UsageError(f"task {task.id!r}: esolang-bench has no reference solution, and so makes no fresh tests")
    for number, test in enumerate(task.tests, 1):
        if (output := _output(REFERENCES[task.id], task.id, number, test)) != test.output:
            what = f"the reference solution prints {output!r}, not {test.output!r}"
            raise UsageError(f"task {task.id!r}, test {number}: {what}; was the file changed?")
    return REFERENCES[task.id]


def _output(reference: Reference, task: str, number: int, test: Test) -> str:
    try:
        return reference.output(test.input)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        what = f"the reference solution cannot read {test.input!r}: {error}"
        raise UsageError(f"task {task!r}, test {number}: {what}; was the file changed?") from error
