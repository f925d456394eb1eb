"""The JSON object that the paper's prompt requests, parsed from a completion, and the task built from it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agnostics.inference.openai_client import EndpointCompletion
from agnostics.task_prep.problem import FunctionProblem
from agnostics.types.code_extraction import extract_program, strip_reasoning
from agnostics.types.task import Comparison, Task, Test

MAX_TESTS, MAX_CHARS = 500, 100_000
_DECIMAL = re.compile(r"(?<!\S)[-+]?\d+\.\d+(?!\S)")
_TOLERANCE = 1e-4  # for numbers rounded to 4 decimal places, in either direction

Text = Annotated[str, Field(max_length=MAX_CHARS)]


class DraftRejected(Exception):
    """A completion that is rejected: the check that it failed, and the reason."""

    def __init__(self, check: str, reason: str) -> None:
        super().__init__(reason)
        self.check, self.reason = check, reason


class DraftTest(BaseModel):
    """A test as the model wrote it."""

    model_config = ConfigDict(strict=True, frozen=True)

    input: Text
    output: Text


class TaskDraft(BaseModel):
    """A reformulated problem as the model wrote it; further fields of its JSON object are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)

    description: Text
    input_format: Text
    output_format: Text
    tests: Annotated[list[DraftTest], Field(min_length=1, max_length=MAX_TESTS)]

    @property
    def statement(self) -> str:
        """The statement of the task, in the format of the paper's figure 3."""
        description = self.description.strip()
        return (
            f"{description}\n\nInput format: {self.input_format.strip()}\n\nOutput format: {self.output_format.strip()}"
        )

    @property
    def has_decimals(self) -> bool:
        """True if an output holds a decimal number."""
        return any(_DECIMAL.search(test.output) for test in self.tests)


def parse_draft(completion: EndpointCompletion) -> TaskDraft:
    """The draft in a completion. Raises DraftRejected if it is truncated or holds none."""
    if completion.truncated:
        raise DraftRejected("not_truncated", "the completion was truncated; raise --max-completion-tokens")
    text = strip_reasoning(completion.text)
    text = extract_program(text, {"json"}) or text
    try:
        return TaskDraft.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        check = "json" if first["type"] == "json_invalid" else "schema"
        raise DraftRejected(check, f"{place}: {first['msg']}" if place else first["msg"]) from error


def task_from_draft(problem: FunctionProblem, draft: TaskDraft, model: str) -> Task:
    """The task in the draft of `problem` by `model`."""
    compare = Comparison(mode="floats", absolute=_TOLERANCE) if draft.has_decimals else Comparison()
    return Task(
        id=problem.id,
        statement=draft.statement,
        tests=tuple(Test(input=_with_newline(test.input), output=_with_newline(test.output)) for test in draft.tests),
        compare=compare,
        metadata={"reformulated_by": model},
    )


def _with_newline(text: str) -> str:
    """`text` with a line feed at its end, as programs read and write it."""
    return text if not text or text.endswith("\n") else f"{text}\n"
