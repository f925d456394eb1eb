"""What is wrong with faulty programs, in the seven themes of the paper (Appendix E), as a model reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agnostics.analysis.advice.brief import Brief
from agnostics.analysis.advice.sentences import without_reasoning
from agnostics.types.code_extraction import extract_program
from agnostics.types.failed_program import FailedProgram


@dataclass(frozen=True, slots=True)
class Theme:
    """A kind of mistake, in the paper's words (Appendix E.2)."""

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
"""Tokens for one program and what was said of it: longer ones are cut."""

_OPENING = (
    "What follows is a faulty {language} program, and what became of it. Which of the themes below apply to it? "
    "The themes are not mutually exclusive; a program may have more than one theme.\n\n"
    + "\n".join(f"{number}. {theme.name}: {theme.description}" for number, theme in enumerate(THEMES, 1))
)
_TASK = (
    'Answer with a json object {{"themes": [...]}} that lists the numbers of the themes that apply to the {language} '
    "program above, at least one, in a single ```json ``` block. Do not include any other text in your response."
)


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True)

    themes: list[Annotated[int, Field(ge=1, le=len(THEMES))]] = Field(min_length=1, max_length=len(THEMES))


@dataclass(frozen=True, slots=True)
class Profile:
    """How often each theme was found in the faulty programs of `name`; `unread` answers could not be used."""

    name: str
    found: tuple[frozenset[int], ...]
    """The numbers of the themes of each program, from 0."""
    unread: int

    @property
    def shares(self) -> list[float]:
        """The share of programs with each theme, among those of which an answer could be used."""
        return [sum(theme in one for one in self.found) / max(1, len(self.found)) for theme in range(len(THEMES))]


def question(language: str, fault: FailedProgram) -> str:
    """What a model is asked about one program."""
    brief = Brief(language, "", [fault], CONTEXT)
    return brief.framed(_OPENING, brief.batches[0], _TASK)


def themes_in(answer: str) -> frozenset[int] | None:
    """The themes that an answer names, by their numbers from 0; None where it is not what was asked for."""
    said = without_reasoning(answer)
    try:
        read = _Answer.model_validate_json(extract_program(said, {"json"}) or said)
    except ValidationError:
        return None
    return frozenset(number - 1 for number in read.themes)


def profile_of(name: str, answers: Sequence[str]) -> Profile:
    """The profile that `answers`, one for each program, make."""
    read = [themes_in(answer) for answer in answers]
    found = tuple(themes for themes in read if themes is not None)
    return Profile(name, found, len(read) - len(found))
