"""Rules that derive the comparison of outputs from a statement, for sources without a field for it."""

from __future__ import annotations

import re

from agnostics import Comparison

_ANY = r"\b(?:any|either|arbitrary)\b"
_PRINT = r"\b(?:print|output|write|report|find|display|return|give)\b"
_ANSWER = r"(?:answers?|solutions?|outputs?|ways?|sequences?|arrays?|strings?|permutations?|plans?|schedules?|options?)"
_SEVERAL = re.compile(
    "|".join(
        (
            rf"\b(?:multiple|several|many|more than one|various)\b[^.]{{0,160}}?{_PRINT} {_ANY}",
            r"\b(?:multiple|several|many|more than one) (?:correct |possible |valid |optimal )?answers?\b",
            rf"\b(?:multiple|several|many) (?:\w+ )?{_ANSWER} (?:are |is )?(?:possible|exist|allowed|accepted)",
            rf"{_PRINT} {_ANY}(?: (?:one|of|valid|such|possible|correct|suitable|optimal|them|these)\b|[.,)])",
            rf"{_PRINT} {_ANY} (?:\w+ )?{_ANSWER}",
            rf"\b(?:can|may) (?:print|output|write|report) (?:them|the [\w ]{{1,40}}) in {_ANY} order",
            rf"{_ANY} (?:of (?:them|these) |(?:\w+ )?{_ANSWER} )(?:will be|is|are) (?:accepted|allowed|correct)",
            r"\bspecial (?:judge|checker)\b",
        )
    ),
    re.IGNORECASE,
)
_INTERACTIVE = re.compile(
    r"\binteractive (?:problem|task)\b|\binteraction (?:protocol|procedure)\b|\bflush", re.IGNORECASE
)
_ERROR = re.compile(
    r"\b(?:absolute|relative)\b[^.]{0,30}\berror\b|\berror\b[^.]{0,40}\b(?:absolute|relative)\b", re.IGNORECASE
)
_TOLERANCE = re.compile(r"\b(?:10\s*\^?\s*\{?\s*[-\u2212\u2013]\s*(\d{1,2})\b|1?e-(\d{1,2})\b|0\.(0*)1\b)")


def comparison_of(statement: str) -> Comparison | None:
    """The comparison of outputs that a contest statement implies; None if it needs a checker or interaction.

    With one correct output, `tokens`, as most judges do. With a tolerated error, absolute or relative, `floats` with
    the tolerance that is mentioned near it, else 1e-6. Phrases such as "if there are several answers, print any" imply
    a special checker, whose program is not in the data; nor is the interactor of an interactive problem. The rules
    cover English, and miss other phrasings.
    """
    if _SEVERAL.search(statement) or _INTERACTIVE.search(statement):
        return None
    if error := _ERROR.search(statement):
        tolerance = _tolerance(statement[max(0, error.start() - 80) : error.end() + 80])
        return Comparison(mode="floats", absolute=tolerance, relative=tolerance)
    return Comparison()


def _tolerance(text: str) -> float:
    found = _TOLERANCE.search(text)
    if found is None:
        return 1e-6
    power, exponent, zeros = found.groups()
    return float(f"1e-{power or exponent or len(zeros) + 1}")
