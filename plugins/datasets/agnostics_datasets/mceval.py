"""The `mceval` adapter: functions in many languages, each written for its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from agnostics.errors import unknown
from agnostics.task import Stitch, Task

from agnostics_datasets.records import Fields, Records
from agnostics_datasets.stitched import stitched_task

LANGUAGES = {"Julia": "julia", "Lua": "lua", "Python": "python", "R": "r"}
"""By the beginning of a problem's id, the languages whose tests follow the program and decide by its exit status."""
_IMPORTS = {
    "julia": r"^(?:using|import) [A-Z].*$",
    "python": r"^(?:import \w|from \S+ import ).*$",
    "r": r"^library\(.*$",
}
"""A line of a prompt that imports something, and is not prose of a comment."""
_SECONDS = 15.0


class Problem(Fields):
    """The fields of a problem that are read."""

    task_id: str
    prompt: str
    instruction: str
    test: str
    level: str | None = None


class McEval(Records[Problem]):
    """McEval (Chai et al. 2024, arXiv 2406.07436), its generation tasks, from a file of one language (`Lua.jsonl`).

    The program is the code block of an answer, between the imports of McEval's prompt and its tests, and passes where
    it ends with exit status 0 within 15 seconds. McEval itself also mends answers by patterns for each language (it
    looks for the function outside of blocks and removes the model's own tests), which is not done here.
    """

    name: ClassVar[str] = "mceval"
    description: ClassVar[str] = "McEval: functions in many languages, here Julia, Lua, Python and R."
    license: ClassVar[str] = "CC-BY-SA-4.0; a benchmark with tests in the language"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "about 50 problems in each language"
    fields: ClassVar[Mapping[str, str]] = {
        "task_id": "id, and the language",
        "instruction": "statement",
        "prompt": "its imports, before the program",
        "test": "stitch",
        "level": "difficulty",
    }
    record = Problem

    def task(self, record: Problem, number: int, split: str, seed: int) -> Task:  # noqa: ARG002
        """The task of a problem; see `Records.task`. Raises UsageError for a language that is not supported."""
        language = record.task_id.partition("/")[0]
        if language not in LANGUAGES:
            raise unknown("language of McEval", language, LANGUAGES)
        name = LANGUAGES[language]
        imports = re.findall(_IMPORTS[name], record.prompt, re.MULTILINE) if name in _IMPORTS else []
        stitch = Stitch(language=name, before="".join(f"{line}\n" for line in imports), tests=record.test)
        return stitched_task(record.task_id, record.instruction, stitch, _SECONDS, difficulty=record.level)
