"""The `humaneval` adapter: functions in Python, from their signatures and docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import PromptFormat, Task

from agnostics_datasets.formatted_task import formatted_task
from agnostics_datasets.records import Fields, Records

STOP = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
"""The stop sequences of a completion: section 3.2 of the paper."""
_SECONDS = 3.0


class HumanEvalProblem(Fields):
    """The fields of a problem that are read."""

    task_id: str
    prompt: str
    entry_point: str
    test: str


class HumanEval(Records[HumanEvalProblem]):
    """HumanEval (Chen et al. 2021, arXiv 2107.03374) from its `HumanEval.jsonl.gz`.

    As in its `execution.py`, the program is prompt, completion, tests and `check(entry_point)`, and passes if it raises
    nothing within 3 seconds.
    """

    name: ClassVar[str] = "humaneval"
    description: ClassVar[str] = "HumanEval: functions in Python; the model goes on from signature and docstring."
    license: ClassVar[str] = "MIT; a benchmark with tests in Python"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "164 problems"
    fields: ClassVar[Mapping[str, str]] = {
        "task_id": "id",
        "prompt": "statement, which begins the program",
        "test, entry_point": "prompt_format",
    }
    record = HumanEvalProblem

    def task(self, record: HumanEvalProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`."""
        tests = f"{record.test}\ncheck({record.entry_point})"
        return formatted_task(
            record.task_id, record.prompt, PromptFormat(language="python", tests=tests, stop=STOP), _SECONDS
        )
