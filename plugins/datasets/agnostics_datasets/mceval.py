"""The `mceval` adapter: functions in many languages, with problems written for each language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from agnostics import PromptFormat, Task, unknown_name_error

from agnostics_datasets.formatted_task import formatted_task
from agnostics_datasets.records import Fields, Records

LANGUAGES = {
    "Fortran": "fortran",
    "Julia": "julia",
    "Lua": "lua",
    "Perl": "pl",
    "Python": "python",
    "R": "r",
    "Tcl": "tcl",
}
"""The languages whose programs are only a code block and the tests, by the prefix of a problem's id."""
_IMPORTS = {
    "julia": r"^(?:using|import) [A-Z].*$",
    "pl": r"^use .*$",
    "python": r"^(?:import \w|from \S+ import ).*$",
    "r": r"^library\(.*$",
}
"""An import statement in a prompt, not the prose of a comment."""
_NO_FAILURE = r"\A(?!(?s:.*)failed)"
_SECONDS = 15.0


class McEvalProblem(Fields):
    """The fields of a problem that are read."""

    task_id: str
    prompt: str
    instruction: str
    test: str
    level: str | None = None


class McEval(Records[McEvalProblem]):
    """McEval (Chai et al. 2024, arXiv 2406.07436), its generation tasks, from a file of one language (`Lua.jsonl`).

    The program is the code block of a completion, between the imports of McEval's prompt and its tests, and passes if
    it ends with exit status 0 within 15 seconds. In Fortran the tests are a main program, followed by the functions of
    the completion, and it must not print that they failed (`excute.py` of its repository). McEval itself also repairs
    completions by patterns for each language (it looks for the function outside of blocks and removes the model's own
    tests), which is not done here.
    """

    name: ClassVar[str] = "mceval"
    description: ClassVar[str] = "McEval: functions in many languages, here in seven of its forty."
    license: ClassVar[str] = "CC-BY-SA-4.0; a benchmark with tests in the language"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "about 50 problems in each language"
    fields: ClassVar[Mapping[str, str]] = {
        "task_id": "id, and the language",
        "instruction": "statement",
        "prompt": "its imports, before the program",
        "test": "prompt_format",
        "level": "difficulty",
    }
    record = McEvalProblem

    def task(self, record: McEvalProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`. Raises UsageError for a language that is not supported."""
        language = record.task_id.partition("/")[0]
        if language not in LANGUAGES:
            raise unknown_name_error("language of McEval", language, LANGUAGES)
        prompt_format = _prompt_format(LANGUAGES[language], record)
        return formatted_task(record.task_id, record.instruction, prompt_format, _SECONDS, difficulty=record.level)


def _prompt_format(language: str, record: McEvalProblem) -> PromptFormat:
    if language == "fortran":
        return PromptFormat(language=language, before=f"{record.test}\n", tests="end program\n", stdout=_NO_FAILURE)
    imports = re.findall(_IMPORTS[language], record.prompt, re.MULTILINE) if language in _IMPORTS else []
    return PromptFormat(language=language, before="".join(f"{line}\n" for line in imports), tests=record.test)
