"""The `mbpp` adapter: mostly basic problems in Python, with the asserts that they must pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import PromptFormat, Task
from pydantic import AliasChoices, Field

from agnostics_datasets.formatted_task import formatted_task
from agnostics_datasets.records import Fields, Records

PROMPT = """\
You are an expert Python programmer, and here is your task: {text} Your code should pass these tests:

{tests}
"""
_SECONDS = 10.0


class MbppProblem(Fields):
    """The fields of a problem that are read, as in `mbpp.jsonl` or in `sanitized-mbpp.json`."""

    task_id: int
    text: str = Field(validation_alias=AliasChoices("text", "prompt"))
    test_list: list[str] = Field(min_length=1)
    test_setup_code: str = ""
    test_imports: tuple[str, ...] = ()


class Mbpp(Records[MbppProblem]):
    """MBPP (Austin et al. 2021, arXiv 2108.07732) from its `mbpp.jsonl` or `sanitized-mbpp.json`.

    The prompt is the paper's, without its examples: the program is the code block of a completion, and passes if none
    of the asserts after it fails. The splits are MBPP's by id: 11 to 510 are "test", 511 to 600
    "validation" and 601 to 974 "train"; 1 to 10 are the examples.
    """

    name: ClassVar[str] = "mbpp"
    description: ClassVar[str] = "MBPP: basic problems in Python, each with its asserts."
    license: ClassVar[str] = "CC-BY-4.0; a benchmark with tests in Python, see ag-mbpp-x for training"
    splits: ClassVar[tuple[str, ...]] = ("test", "validation", "train")
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "974 problems, 427 of them sanitized"
    fields: ClassVar[Mapping[str, str]] = {
        "task_id": "id, and the split",
        "text or prompt": "statement",
        "test_list": "statement and prompt_format",
        "test_setup_code, test_imports": "prompt_format",
    }
    stored: ClassVar[str | None] = "test"
    record = MbppProblem

    def belongs(self, record: MbppProblem, split: str) -> bool:
        """The split of a problem, by its id."""
        ids = {"test": range(11, 511), "validation": range(511, 601), "train": range(601, 975)}
        return record.task_id in ids[split]

    def task(self, record: MbppProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`."""
        asserts = "\n".join(record.test_list)
        setup = [*record.test_imports, *filter(None, [record.test_setup_code])]
        prompt_format = PromptFormat(language="python", tests="\n".join([*setup, asserts]))
        statement = PROMPT.format(text=record.text.strip(), tests=asserts)
        return formatted_task(f"mbpp/{record.task_id}", statement, prompt_format, _SECONDS)
