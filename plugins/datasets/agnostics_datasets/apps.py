"""The `apps` adapter: APPS, problems of four sites in three difficulties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import HubSource, Task
from pydantic import AliasChoices, Field

from agnostics_datasets.input_output import InputOutputProblem
from agnostics_datasets.records import Records


class AppsProblem(InputOutputProblem):
    """The fields of a problem that are read. The number is `id` in the files, and `problem_id` in the hub's viewer."""

    id: int = Field(validation_alias=AliasChoices("id", "problem_id"))
    difficulty: str | None = None
    url: str | None = None


class Apps(Records[AppsProblem]):
    """APPS (Hendrycks et al., 2021, arXiv 2105.09938), from `codeparrot/apps` or its `train.jsonl` and `test.jsonl`.

    `InputOutputProblem.tests_and_comparison` defines the exclusions. APPS has no limits; the defaults apply. MIT; the
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
    hub: ClassVar[HubSource] = HubSource(
        "codeparrot/apps",
        "21e74ddf8de1a21436da12e3e653065c5213e9d1",
        files={"train": "train.jsonl", "test": "test.jsonl"},
    )
    record = AppsProblem

    def task(self, record: AppsProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        if (found := record.tests_and_comparison()) is None:
            return None
        tests, compare = found
        return Task(
            id=f"{self.name}/{split}/{record.id}",
            statement=record.question.strip(),
            tests=tests,
            compare=compare,
            difficulty=record.difficulty,
            metadata={"url": record.url} if record.url else {},
        )
