"""The `taco` adapter: TACO, problems of many sites with their topics and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from agnostics import HubSource, LimitOverrides, Task

from agnostics_datasets.input_output import InputOutputProblem
from agnostics_datasets.records import Records

_MIB = {"k": 1 / 1024, "m": 1.0, "g": 1024.0}


class TacoProblem(InputOutputProblem):
    """The fields of a problem that are read."""

    difficulty: str | None = None
    tags: str | None = None
    source: str | None = None
    url: str | None = None
    time_limit: str | None = None
    memory_limit: str | None = None


class Taco(Records[TacoProblem]):
    """TACO (Li et al., 2023, arXiv 2312.14852), from `BAAI/TACO` or files with its columns.

    `InputOutputProblem.tests_and_comparison` defines the exclusions; TACO has no field for special checkers. A problem
    has no id; its index in the split is its id. Limits are parsed from texts such as "2.0 seconds" and "256.0
    megabytes", the largest if there are several. Apache-2.0; the statements belong to the sites that they are from.
    """

    name: ClassVar[str] = "taco"
    description: ClassVar[str] = "TACO: problems of coding sites with topics, difficulty and limits."
    license: ClassVar[str] = "Apache-2.0"
    size: ClassVar[str] = "26,443 problems (25,443 train, 1,000 test), before those left out"
    fields: ClassVar[Mapping[str, str]] = {
        "question": "statement, and how outputs are compared",
        "input_output": "tests",
        "time_limit": "limits.run_s",
        "memory_limit": "limits.memory_mb",
        "difficulty": "difficulty",
        "tags": "tags",
        "source, url": "metadata",
        "starter_code": "the problem is left out where there is some",
    }
    hub: ClassVar[HubSource] = HubSource(
        "BAAI/TACO",
        "d593ed0a2becbbc952230bb89be09189bf1056dc",
        files={"train": "ALL/train-*.parquet", "test": "ALL/test-*.parquet"},
        columns=tuple(TacoProblem.model_fields),
    )
    record = TacoProblem

    def task(self, record: TacoProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        if (found := record.tests_and_comparison()) is None:
            return None
        tests, compare = found
        return Task(
            id=f"{self.name}/{split}/{number}",
            statement=record.question.strip(),
            tests=tests,
            compare=compare,
            limits=LimitOverrides(run_s=_seconds(record.time_limit), memory_mb=_mebibytes(record.memory_limit)),
            tags=_tags(record.tags),
            difficulty=record.difficulty,
            metadata={key: value for key in ("source", "url") if (value := getattr(record, key))},
        )


def _seconds(text: str | None) -> float | None:
    found = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text or "")]
    return max(found, default=0.0) or None


def _mebibytes(text: str | None) -> int | None:
    found = re.search(r"(\d+(?:\.\d+)?)\s*([kmg])", (text or "").lower())
    return max(16, int(float(found[1]) * _MIB[found[2]])) if found else None


def _tags(text: str | None) -> tuple[str, ...]:
    """The tags in a text such as "['Greedy', 'Sorting']", which is a Python literal."""
    return tuple(re.findall(r"""['"](.+?)['"]\s*[,\]]""", text or ""))
