"""The `code-contests` adapter: DeepMind's CodeContests, problems of five contest sites with all their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import HubSource, LimitOverrides, Task, Test

from agnostics_datasets.records import Fields, Records
from agnostics_datasets.statement_rules import comparison_of

SOURCES = ("unknown", "codechef", "codeforces", "hackerearth", "codejam", "atcoder", "aizu")
DIFFICULTIES = ("unknown", "easy", "medium", "hard", "harder", "hardest", "external", *"ABCDEFGHIJKLMNOPQRSTUV")
"""The names for the numbers in the fields `source` and `difficulty`."""


class Pairs(Fields):
    """Inputs and their outputs, as two lists of equal length."""

    input: tuple[str, ...] = ()
    output: tuple[str, ...] = ()

    def tests(self) -> list[Test]:
        """The tests. Raises ValueError if the lists differ in length."""
        return [Test(input=i, output=o) for i, o in zip(self.input, self.output, strict=True)]


class Duration(Fields):
    """A time limit."""

    seconds: int = 0
    nanos: int = 0


class CodeContestsProblem(Fields):
    """The fields of a problem that are read."""

    name: str
    description: str
    public_tests: Pairs = Pairs()
    private_tests: Pairs = Pairs()
    generated_tests: Pairs = Pairs()
    source: int = 0
    difficulty: int = 0
    cf_tags: tuple[str, ...] = ()
    cf_rating: int = 0
    time_limit: Duration | None = None
    memory_limit_bytes: int = 0
    input_file: str = ""
    output_file: str = ""


class CodeContests(Records[CodeContestsProblem]):
    """CodeContests (Li et al., 2022, arXiv 2203.07814), from `deepmind/code_contests` or files with its columns.

    A task has the public, the private and the generated tests. Left out are problems without tests, those that read or
    write named files, and those with several correct outputs or interaction according to `comparison_of`: CodeContests
    has no field for the checker, and compares all problems as tokens. CC-BY-4.0; the statements belong to
    the sites that they are from.
    """

    name: ClassVar[str] = "code-contests"
    description: ClassVar[str] = "CodeContests: contest problems with their public, private and generated tests."
    license: ClassVar[str] = "CC-BY-4.0"
    splits: ClassVar[tuple[str, ...]] = ("train", "valid", "test")
    size: ClassVar[str] = "13,610 problems (13,328 train, 117 valid, 165 test), before those left out"
    fields: ClassVar[Mapping[str, str]] = {
        "source, name": "id",
        "description": "statement, and how outputs are compared",
        "public_tests, private_tests, generated_tests": "tests",
        "time_limit": "limits.run_s",
        "memory_limit_bytes": "limits.memory_mb",
        "difficulty": "difficulty",
        "cf_tags": "tags",
        "cf_rating": "metadata.rating",
        "input_file, output_file": "the problem is left out where one is named",
    }
    hub: ClassVar[HubSource] = HubSource(
        "deepmind/code_contests",
        "802411c3010cb00d1b05bad57ca77365a3c699d6",
        columns=tuple(CodeContestsProblem.model_fields),
    )
    record = CodeContestsProblem

    def task(self, record: CodeContestsProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        tests = [*record.public_tests.tests(), *record.private_tests.tests(), *record.generated_tests.tests()]
        compare = comparison_of(record.description)
        if not tests or compare is None or record.input_file or record.output_file:
            return None
        return Task(
            id=f"{self.name}/{_name(SOURCES, record.source)}/{record.name}",
            statement=record.description.strip(),
            tests=tuple(tests),
            compare=compare,
            limits=_limits(record),
            tags=tuple(filter(None, record.cf_tags)),
            difficulty=_name(DIFFICULTIES, record.difficulty),
            metadata={"rating": record.cf_rating} if record.cf_rating else {},
        )


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else names[0]


def _limits(problem: CodeContestsProblem) -> LimitOverrides:
    time = problem.time_limit or Duration()
    run_s = time.seconds + time.nanos / 1e9
    memory = max(16, problem.memory_limit_bytes >> 20) if problem.memory_limit_bytes > 0 else None
    return LimitOverrides(run_s=run_s if run_s > 0 else None, memory_mb=memory)
