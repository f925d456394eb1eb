"""What is read of a model's answer: the JSON object that the paper's prompt asks for, and the task made of it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agnostics.analysis.advice.sentences import without_reasoning
from agnostics.task_prep.problem import Problem
from agnostics.types.code_extraction import extract_program
from agnostics.types.task import Comparison, Task, Test

MOST_TESTS, LONGEST = 500, 100_000
_DECIMAL = re.compile(r"(?<!\S)[-+]?\d+\.\d+(?!\S)")
_TOLERANCE = 1e-4  # of what was rounded to 4 decimal places, one way or the other

Text = Annotated[str, Field(max_length=LONGEST)]


class Rejected(Exception):
    """An answer that is not used: which check it failed, and why."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(reason)
        self.check, self.reason = check, reason


class Example(BaseModel):
    """A test as the model wrote it."""

    model_config = ConfigDict(strict=True, frozen=True)

    input: Text
    output: Text


class Draft(BaseModel):
    """A reformulated problem as the model wrote it; what else its object holds is passed over."""

    model_config = ConfigDict(strict=True, frozen=True)

    description: Text
    input_format: Text
    output_format: Text
    tests: Annotated[list[Example], Field(min_length=1, max_length=MOST_TESTS)]

    @property
    def statement(self) -> str:
        """The statement of the task, in the form of the paper's figure 3."""
        description = self.description.strip()
        return (
            f"{description}\n\nInput format: {self.input_format.strip()}\n\nOutput format: {self.output_format.strip()}"
        )

    @property
    def has_decimals(self) -> bool:
        """Whether an output holds a decimal number."""
        return any(_DECIMAL.search(test.output) for test in self.tests)


def read(answer: str, *, whole: bool = True) -> Draft:
    """The draft in a model's answer; not `whole` where it was cut off. Raises Rejected where there is none."""
    if not whole:
        raise Rejected("whole", "the answer was cut off; allow more --answer-tokens")
    said = without_reasoning(answer)
    text = extract_program(said, {"json"}) or said
    try:
        return Draft.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        check = "json" if first["type"] == "json_invalid" else "schema"
        raise Rejected(check, f"{place}: {first['msg']}" if place else first["msg"]) from error


def task_of(problem: Problem, draft: Draft, model: str) -> Task:
    """The task that `model` made of `problem`."""
    compare = Comparison(mode="floats", absolute=_TOLERANCE) if draft.has_decimals else Comparison()
    return Task(
        id=problem.id,
        statement=draft.statement,
        tests=tuple(Test(input=_line(test.input), output=_line(test.output)) for test in draft.tests),
        compare=compare,
        metadata={"reformulated_by": model},
    )


def _line(text: str) -> str:
    """`text` with the end of its last line, as programs read and write it."""
    return text if not text or text.endswith("\n") else f"{text}\n"
