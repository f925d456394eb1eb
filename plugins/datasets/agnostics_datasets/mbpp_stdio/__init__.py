"""The `mbpp-stdio` adapter: MBPP as tasks with standard input and output, converted by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from agnostics import Task, Test
from pydantic import AliasChoices, Field

from agnostics_datasets.contest_prompt import WITH_HEADINGS, Sections, set_in
from agnostics_datasets.mbpp_stdio.asserts import Call, as_program, parameter_names, parse_calls
from agnostics_datasets.mbpp_stdio.shapes import Shape, Unsupported, shape_of
from agnostics_datasets.records import Fields, Records

REPEATED = frozenset(
    (
        *(538, 608, 625, 635, 649, 658, 666, 673, 676, 704, 708, 716, 725, 732),
        *(759, 767, 800, 841, 842, 922, 924, 928, 931, 952, 955, 970),
    )
)
"""Problems that a later split repeats, in almost the same words or with the same reference solution."""


class MbppFunction(Fields):
    """The fields of a problem that are read, as in `mbpp.jsonl` or in `sanitized-mbpp.json`."""

    task_id: int
    text: str = Field(validation_alias=AliasChoices("text", "prompt"))
    code: str
    test_list: list[str] = Field(min_length=1)
    challenge_test_list: tuple[str, ...] = ()


class MbppStdio(Records[MbppFunction]):
    """MBPP (Austin et al. 2021, arXiv 2108.07732) from its `mbpp.jsonl` or `sanitized-mbpp.json`, for any language.

    Each assert becomes a test: its arguments are written as lines, the result as it is to be printed, and the statement
    describes both formats; the first test is a sample in it. No model has a part in this. Left out are problems whose
    values are not integers of 64 bits, numbers, truth values, texts, lists of these or lists of rows (that is sets,
    mappings, None and mixed lists), those with texts of several lines, those with the same result in all tests, and
    `REPEATED`. The splits are MBPP's by id: 11 to 510 are "test", 511 to 600 "validation", the others "train".
    """

    name: ClassVar[str] = "mbpp-stdio"
    description: ClassVar[str] = "MBPP with standard input and output, converted from its asserts by rule."
    license: ClassVar[str] = "CC-BY-4.0"
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    size: ClassVar[str] = "795 of MBPP's 974 problems: 298 for training, 75 for validation, 422 for tests"
    fields: ClassVar[Mapping[str, str]] = {
        "task_id": "id, and the split",
        "text or prompt": "statement",
        "code": "statement: the names of the function's parameters",
        "test_list, challenge_test_list": "tests, statement, and how outputs are compared",
    }
    stored: ClassVar[str | None] = "train"
    record = MbppFunction

    def belongs(self, record: MbppFunction, split: str) -> bool:
        """The split of a problem, by its id."""
        number = record.task_id
        return split == ("test" if 11 <= number <= 510 else "validation" if 511 <= number <= 600 else "train")

    def task(self, record: MbppFunction, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        try:
            return None if record.task_id in REPEATED else _task(f"{self.name}/{record.task_id}", record)
        except Unsupported:
            return None


def _task(name: str, record: MbppFunction) -> Task:
    """The task of a problem. Raises Unsupported if it is left out."""
    calls = parse_calls([*record.test_list, *record.challenge_test_list])
    arguments = [shape_of(values) for values in zip(*(call.arguments for call in calls), strict=True)]
    result = shape_of([call.result for call in calls])
    tests = tuple(dict.fromkeys(_test(call, arguments, result) for call in calls))
    if len({test.input for test in tests}) < len(tests) or len({test.output for test in tests}) == 1:
        raise Unsupported("one input with two results, or one result for all inputs")
    formats = zip(parameter_names(record.code, calls[0]), arguments, strict=True)
    sections = Sections(
        problem=as_program(record.text),
        input="\n".join(f"- {parameter}: {shape.input_format()}" for parameter, shape in formats),
        output=result.output_format(),
        samples=_samples(tests, result),
        note=None,
    )
    return Task(id=name, statement=set_in(WITH_HEADINGS, sections), tests=tests, compare=result.comparison())


def _samples(tests: Sequence[Test], result: Shape) -> list[Test]:
    """The first test; with texts that repeat as results ("Found a match!"), the first test of each."""
    by_result = {test.output: test for test in reversed(tests)}
    is_label = result.depth == 0 and result.scalar in ("word", "text") and len(by_result) < len(tests)
    return [test for test in tests if test in by_result.values()] if is_label else list(tests[:1])


def _test(call: Call, arguments: Sequence[Shape], result: Shape) -> Test:
    given = zip(arguments, call.arguments, strict=True)
    return Test(
        input="".join(shape.written(value, sized=True) for shape, value in given),
        output=result.written(call.result, sized=False),
    )
