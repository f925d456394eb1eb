"""The `ag-livecodebench-x` adapter: the problems of LiveCodeBench that any language can solve."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from agnostics import Comparison, HubSource, Task, Test
from pydantic import AliasChoices, Field

from agnostics_datasets.input_output import tests_of
from agnostics_datasets.packed import unpack
from agnostics_datasets.records import Fields, Records
from agnostics_datasets.statement_rules import comparison_of


class LiveCodeBenchProblem(Fields):
    """The fields of a problem that are read, under the names of LiveCodeBench, and of SandboxFusion's samples."""

    question_id: str | int = Field(validation_alias=AliasChoices("question_id", "id"))
    question_content: str = Field(validation_alias=AliasChoices("question_content", "content"))
    private_test_cases: str = Field(validation_alias=AliasChoices("private_test_cases", "test"))
    starter_code: str = ""
    difficulty: str | None = None
    platform: str | None = None


class LiveCodeBench(Records[LiveCodeBenchProblem]):
    """Ag-LiveCodeBench-X (the paper, section 4.2 and Appendix B), from `nuprl/Ag-LiveCodeBench-X`.

    Local files can be LiveCodeBench's own (`test.jsonl` to `test5.jsonl` are release 5), of which the same problems are
    kept: those whose private tests all use standard input, 499 of 880. Only the private tests are used, as in the
    paper. They are stored as a pickle, which is decoded by `unpack` and never executed.

    Outputs are compared as tokens, and as floats if the statement tolerates an error: LiveCodeBench has no problems
    with several correct outputs. It has no limits; the defaults apply. As it is a benchmark, every task is in the split
    "test". Neither repository states a licence for the statements, which belong to the sites that they are from.
    """

    name: ClassVar[str] = "ag-livecodebench-x"
    description: ClassVar[str] = (
        "Ag-LiveCodeBench-X: the paper's benchmark, LiveCodeBench 5 without its Python functions."
    )
    license: ClassVar[str] = "CC (LiveCodeBench, version not stated); none stated for the problems kept"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    size: ClassVar[str] = "499 problems; their tests are 8 GB when unpacked"
    fields: ClassVar[Mapping[str, str]] = {
        "question_id": "id",
        "question_content": "statement, and how outputs are compared",
        "private_test_cases": "tests; the problem is left out where one is no `stdin` test",
        "starter_code": "the problem is left out where there is some",
        "difficulty": "difficulty",
        "platform": "tags",
    }
    hub: ClassVar[HubSource] = HubSource("nuprl/Ag-LiveCodeBench-X", "15bef6bf966893163ea9d22f25b7c58fec06a949")
    record = LiveCodeBenchProblem

    def task(self, record: LiveCodeBenchProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        if record.starter_code or not (tests := _tests(record.private_test_cases)):
            return None
        return Task(
            id=f"{self.name}/{record.question_id}",
            statement=record.question_content.strip(),
            tests=tests,
            compare=comparison_of(record.question_content) or Comparison(),
            tags=(record.platform,) if record.platform else (),
            difficulty=record.difficulty,
        )


class _Case(Fields):
    input: str
    output: str
    testtype: str


def _tests(text: str) -> tuple[Test, ...]:
    """The tests of a problem, packed or not; none if one of them calls a function."""
    found = unpack(text) if not text.lstrip().startswith("[") else text
    if isinstance(found, dict):  # the format of LiveCodeBench's grader
        return tests_of(_text_of(found.get("input_output")))
    listed = json.loads(_text_of(found))
    if not isinstance(listed, list):
        raise ValueError("private_test_cases: expected a list of tests")
    cases = [_Case.model_validate(case) for case in listed]
    if any(case.testtype != "stdin" for case in cases):
        return ()
    return tuple(Test(input=case.input, output=case.output) for case in cases)


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"private_test_cases: expected a text in the pack, got {type(value).__name__}")
    return value
