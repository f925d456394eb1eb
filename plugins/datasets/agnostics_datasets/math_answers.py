"""The `math` adapter: problems of mathematics with one final answer each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import Task, Test
from pydantic import AliasChoices, Field

from agnostics_datasets.records import Fields, Records

_FINAL = "####"
"""What stands before the final answer of a solution of GSM8K."""


class MathProblem(Fields):
    """The fields of a problem that are read, as in GSM8K, MATH-500 and AIME."""

    problem: str = Field(validation_alias=AliasChoices("problem", "question"))
    answer: str | int
    id: str | int | None = Field(None, validation_alias=AliasChoices("unique_id", "id", "idx"))
    level: str | int | None = None
    subject: str | None = None


class MathAnswers(Records[MathProblem]):
    """Problems and their gold answers, which the mathematical checker compares with the final answer of a completion.

    The answer is the output of the only test, in LaTeX; of an answer with `####`, what follows it. A file whose name
    does not begin with a split is for tests. GSM8K and MATH-500 are under MIT, the problems of AIME belong to the
    Mathematical Association of America.
    """

    name: ClassVar[str] = "math"
    description: ClassVar[str] = "Problems of mathematics with a final answer: GSM8K, MATH-500, AIME, or your own."
    license: ClassVar[str] = "that of the file"
    splits: ClassVar[tuple[str, ...]] = ("test", "validation", "train")
    size: ClassVar[str] = "as many tasks as the file has records: 1,319 in GSM8K's test split, 500 in MATH-500"
    fields: ClassVar[Mapping[str, str]] = {
        "problem or question": "statement",
        "answer": "the output of the only test; what follows `####`, if that is in it",
        "unique_id, id or idx": "id, else the number of the record",
        "level": "difficulty",
        "subject": "tags",
    }
    record = MathProblem

    def task(self, record: MathProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`."""
        answer = str(record.answer).rpartition(_FINAL)[2].strip()
        if not answer:
            raise ValueError("answer: the final answer is blank")
        return Task(
            id=f"math/{number if record.id is None else record.id}",
            statement=record.problem,
            tests=(Test(input="", output=answer),),
            difficulty=None if record.level is None else str(record.level),
            tags=(record.subject,) if record.subject else (),
        )
