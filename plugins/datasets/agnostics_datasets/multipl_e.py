"""The `multipl-e` adapter: HumanEval and MBPP, translated into other languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import PromptFormat, Task

from agnostics_datasets.formatted_task import formatted_task
from agnostics_datasets.records import Fields, Records

_LANGUAGES = {
    "clj": "clojure-multipl-e",
    "dart": "dart-multipl-e",
    "lua": "lua-multipl-e",
    "pl": "perl-multipl-e",
    "rkt": "racket-multipl-e",
    "scala": "scala-multipl-e",
}
"""Languages of this distribution, which run as in MultiPL-E and include the requirements of its tests, as LuaUnit."""
_SECONDS = {"lua": 5.0, "r": 5.0, "jl": 5.0, "swift": 5.0}
_SECONDS_ELSE = 15.0
_NOTHING, _NO_ERROR = r"\A\Z", r"\A(?!(?s:.*)ERROR)"
_PRINTED = {
    "clj": {"stdout": r"\n0 failures, 0 errors\.\n"},
    "pl": {"stdout": _NO_ERROR, "stderr": _NO_ERROR},
    "rkt": {"stderr": _NOTHING},
    "scala": {"stderr": _NOTHING},
}
"""Patterns that the output must match, for languages whose exit status does not show failed tests (`eval_*.py`)."""


class MultiplEProblem(Fields):
    """The fields of a problem that are read."""

    name: str
    language: str
    prompt: str
    tests: str
    stop_tokens: list[str]


class MultiplE(Records[MultiplEProblem]):
    """MultiPL-E (Cassano et al. 2023, arXiv 2208.08227) from a file of its problems in one language.

    As in `evaluation/src/main.py` of its repository, the model continues the prompt, the completion is truncated at the
    first stop token, and the program is prompt, completion, a newline and the tests. It passes if it ends with exit
    status 0 in time and, in some languages, its output matches a pattern. The licence forbids training.
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
        "tests, stop_tokens, language": "prompt_format",
    }
    record = MultiplEProblem

    def task(self, record: MultiplEProblem, number: int, split: str, seed: int) -> Task:
        """The task of a problem; see `Records.task`."""
        language = record.language
        prompt_format = PromptFormat(
            language=_LANGUAGES.get(language, language),
            tests=record.tests,
            stop=tuple(record.stop_tokens),
            **_PRINTED.get(language, {}),
        )
        origin = record.name.partition("_")[0].lower()
        seconds = _SECONDS.get(language, _SECONDS_ELSE)
        return formatted_task(record.name, record.prompt, prompt_format, seconds, tags=(origin,))
