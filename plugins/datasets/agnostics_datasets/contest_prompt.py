"""The statements of contest problems in sections, and the styles between which the paper varies (Appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from agnostics import Test

HEADINGS, BOLD = 0.30, 0.35
"""The fractions of statements with Markdown headings and with bold titles; the rest are plain."""


@dataclass(frozen=True)
class Style:
    """The format of a statement's sections: a template of the line above each, with the title, or no line."""

    name: str
    title: str
    samples: bool = True


WITH_HEADINGS = Style("headings", "# {}")
WITH_BOLD = Style("bold", "**{}**")
PLAIN = Style("plain", "")
PLAIN_WITHOUT_SAMPLE = Style("plain without sample", "", samples=False)


def drawn_style(problem: str, seed: int) -> Style:
    """The style of a problem's statement, deterministic for a seed.

    30 % have Markdown headings, 35 % bold titles, 35 % sections without titles, and half of these have no sample.
    """
    rng = Random(f"ag-codeforces-x/{seed}/{problem}")
    draw = rng.random()
    if draw < HEADINGS:
        return WITH_HEADINGS
    if draw < HEADINGS + BOLD:
        return WITH_BOLD
    return PLAIN if rng.random() < 0.5 else PLAIN_WITHOUT_SAMPLE


@dataclass(frozen=True)
class Sections:
    """The parts of a statement; empty ones are left out. `samples` are tests that are shown in it."""

    problem: str
    input: str | None
    output: str | None
    samples: Sequence[Test]
    note: str | None


def set_in(style: Style, sections: Sections) -> str:
    """The statement of a problem in a style."""
    shown = "\n\n".join(_sample(*each) for each in enumerate(sections.samples, 1)) if style.samples else ""
    titled = {
        "Problem": sections.problem,
        "Input": sections.input,
        "Output": sections.output,
        "Examples": shown,
        "Note": sections.note,
    }
    return "\n\n".join(_section(style, title, text.strip()) for title, text in titled.items() if text and text.strip())


def _section(style: Style, title: str, text: str) -> str:
    return f"{style.title.format(title)}\n\n{text}" if style.title else text


def _sample(number: int, sample: Test) -> str:
    parts = (("Input", sample.input), ("Output", sample.output))
    return "\n\n".join(f"{name} {number}:\n```\n{text.strip()}\n```" for name, text in parts)
