"""Classification of failed programs into the paper's seven themes of mistakes (Appendix E), by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agnostics.analysis.advice.prompts import AdvicePrompts
from agnostics.types.code_extraction import extract_program, strip_reasoning
from agnostics.types.failed_program import FailedProgram


@dataclass(frozen=True, slots=True)
class Theme:
    """A class of mistakes, in the paper's words (Appendix E.2)."""

    name: str
    description: str


THEMES = (
    Theme(
        "Syntax and Typographical Errors",
        "Missing commas, mismatched parentheses, or other typos that cause compile-time parse errors.",
    ),
    Theme(
        "Input Reading and Parsing Errors",
        "Mis-reading or mis-parsing input, leading to empty or malformed variables and subsequent failures.",
    ),
    Theme(
        "Uninitialized Variables",
        "References to variables never defined, causing undefined behavior or runtime faults.",
    ),
    Theme(
        "Data Type and Conversion Errors",
        "Incorrect casting or type misuse that triggers type errors, warnings, or incorrect results.",
    ),
    Theme(
        "Function Misuse and Missing Libraries",
        "Invocations of non-existent or mis-parameterized functions, or missing imports/libraries, causing errors.",
    ),
    Theme(
        "Algorithmic Logic Flaws",
        "Programs that compile and run but produce wrong answers due to faulty logic or conditions.",
    ),
    Theme(
        "Output Formatting and Presentation Errors",
        "Correct computational results, but incorrect due to formatting issues (e.g. missing newlines/spaces or output "
        "spec violations).",
    ),
)
CONTEXT = 8192
"""Tokens for one program with its message: longer ones are cut."""

_OPENING = (
    "What follows is a faulty {language} program, and what became of it. Which of the themes below apply to it? "
    "The themes are not mutually exclusive; a program may have more than one theme.\n\n"
    + "\n".join(f"{number}. {theme.name}: {theme.description}" for number, theme in enumerate(THEMES, 1))
)
_TASK = (
    'Answer with a json object {{"themes": [...]}} that lists the numbers of the themes that apply to the {language} '
    "program above, at least one, in a single ```json ``` block. Do not include any other text in your response."
)


class _Labels(BaseModel):
    """The JSON object that a completion holds."""

    model_config = ConfigDict(strict=True)

    themes: list[Annotated[int, Field(ge=1, le=len(THEMES))]] = Field(min_length=1, max_length=len(THEMES))


@dataclass(frozen=True, slots=True)
class ThemeProfile:
    """The frequency of each theme among the failed programs of `name`; `unparsed` completions are left out."""

    name: str
    labels: tuple[frozenset[int], ...]
    """The themes of each program, by their numbers from 0."""
    unparsed: int

    @property
    def fractions(self) -> list[float]:
        """The fraction of programs with each theme, among those whose completion was parsed."""
        counts = (sum(theme in labels for labels in self.labels) for theme in range(len(THEMES)))
        return [count / max(1, len(self.labels)) for count in counts]


def theme_prompt(language: str, failed: FailedProgram) -> str:
    """The prompt to classify one program."""
    prompts = AdvicePrompts(language, "", [failed], CONTEXT)
    return prompts.render(_OPENING, prompts.batches[0], _TASK)


def parse_themes(completion: str) -> frozenset[int] | None:
    """The themes in a completion, by their numbers from 0; None if it does not hold the JSON object."""
    text = strip_reasoning(completion)
    try:
        labels = _Labels.model_validate_json(extract_program(text, {"json"}) or text)
    except ValidationError:
        return None
    return frozenset(number - 1 for number in labels.themes)


def theme_profile(name: str, completions: Sequence[str]) -> ThemeProfile:
    """The profile from `completions`, one per program."""
    parsed = [parse_themes(completion) for completion in completions]
    labels = tuple(themes for themes in parsed if themes is not None)
    return ThemeProfile(name, labels, len(parsed) - len(labels))
