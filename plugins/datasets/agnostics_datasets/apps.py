"""The `apps` adapter: APPS, problems of four sites in three difficulties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics.dataset import Hub
from agnostics.task import Task
from pydantic import AliasChoices, Field

from agnostics_datasets.input_output import tests_of
from agnostics_datasets.judging import judged_by
from agnostics_datasets.records import Fields, Records


class Problem(Fields):
    """The fields of a problem that are read. The files call the number `id`, and the hub's viewer `problem_id`."""

    id: int = Field(validation_alias=AliasChoices("id", "problem_id"))
    question: str
    input_output: str | None = None
    difficulty: str | None = None
    url: str | None = None
    starter_code: str | None = None


class Apps(Records[Problem]):
    """APPS (Hendrycks et al., 2021, arXiv 2105.09938), from `codeparrot/apps` or its `train.jsonl` and `test.jsonl`.

    Left out are problems without tests, those whose tests call a function or that begin with code (both are Python),
    and those that `judged_by` finds to have several right outputs. APPS has no limits; the defaults hold. MIT; the
    statements belong to the sites that they are from.
    """

    name: ClassVar[str] = "apps"
    description: ClassVar[str] = "APPS: problems of coding sites, introductory, interview and competition."
    license: ClassVar[str] = "MIT"
    size: ClassVar[str] = "10,000 problems (5,000 train, 5,000 test), before those left out"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "question": "statement, and how outputs are compared",
        "input_output": "tests",
        "difficulty": "difficulty",
        "url": "metadata.url",
        "starter_code": "the problem is left out where there is some",
    }
    hub: ClassVar[Hub] = Hub(
        "codeparrot/apps",
        "21e74ddf8de1a21436da12e3e653065c5213e9d1",
        files={"train": "train.jsonl", "test": "test.jsonl"},
    )
    record = Problem

    def task(self, record: Problem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        compare = judged_by(record.question)
        if record.starter_code or compare is None or not (tests := tests_of(record.input_output)):
            return None
        return Task(
            id=f"{self.name}/{split}/{record.id}",
            statement=record.question.strip(),
            tests=tests,
            compare=compare,
            difficulty=record.difficulty,
            metadata={"url": record.url} if record.url else {},
        )
