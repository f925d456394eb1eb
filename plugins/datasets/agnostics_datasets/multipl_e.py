"""The `multipl-e` adapter: HumanEval and MBPP, translated into other languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics.task import Stitch, Task

from agnostics_datasets.records import Fields, Records
from agnostics_datasets.stitched import stitched_task

_LANGUAGES = {"lua": "lua-multipl-e"}
"""Languages that its tests want more of than a pack brings: here a Lua 5.3 with LuaUnit, as in its container."""
_SECONDS = {"lua": 5.0, "r": 5.0, "jl": 5.0, "swift": 5.0}
_SECONDS_ELSE = 15.0
_JUDGED_BY_OUTPUT = {"clj", "dart", "pl", "rkt", "scala"}


class Problem(Fields):
    """The fields of a problem that are read."""

    name: str
    language: str
    prompt: str
    tests: str
    stop_tokens: list[str]


class MultiplE(Records[Problem]):
    """MultiPL-E (Cassano et al. 2023, arXiv 2208.08227) from a file of its problems in one language.

    As it evaluates (`evaluation/src/main.py` of its repository): the model goes on from the prompt, the completion is
    cut at the first stop token, and the program is prompt, completion, a new line and the tests. It passes where it
    ends with exit status 0 in time. Its licence forbids training on it.
    """

    name: ClassVar[str] = "multipl-e"
    description: ClassVar[str] = "MultiPL-E: HumanEval and MBPP, translated; the model goes on from a prompt."
    license: ClassVar[str] = "MultiPL-E's, which forbids training"
    splits: ClassVar[tuple[str, ...]] = ("test",)
    evaluation_only: ClassVar[bool] = True
    size: ClassVar[str] = "156 to 161 problems of HumanEval and 355 to 397 of MBPP in each language"
    fields: ClassVar[Mapping[str, str]] = {
        "name": "id; its beginning, humaneval or mbpp, is a tag",
        "prompt": "statement, which begins the program",
        "tests, stop_tokens, language": "stitch",
    }
    record = Problem

    def task(self, record: Problem, number: int, split: str, seed: int) -> Task:  # noqa: ARG002
        """The task of a problem; see `Records.task`."""
        language = record.language
        if language in _JUDGED_BY_OUTPUT:
            raise ValueError(f"MultiPL-E judges {language!r} by what programs print, not by their exit status alone")
        stitch = Stitch(language=_LANGUAGES.get(language, language), tests=record.tests, stop=tuple(record.stop_tokens))
        origin = record.name.partition("_")[0].lower()
        seconds = _SECONDS.get(language, _SECONDS_ELSE)
        return stitched_task(record.name, record.prompt, stitch, seconds, tags=(origin,))
