"""Ag-Codeforces-X: the paper's training data, derived from its source or read in its published form."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from agnostics import HubSource, Task, Test
from pydantic import AliasChoices, Field

from agnostics_datasets.contest_prompt import WITH_HEADINGS, Sections, drawn_style, set_in
from agnostics_datasets.files import Row, file_rows
from agnostics_datasets.hub import hub_rows
from agnostics_datasets.records import Fields, Records, complaining

HELD_OUT = 107 / 5476
"""The fraction of problems that is held out: the paper has 107 of them, and 5,369 for training."""
_SOLUTIONS, _CHECKERS = "solutions_py_decontaminated", "checker_interactor"


class CodeforcesProblem(Fields):
    """The fields of a problem that are read, under the names of the source, and of the published form."""

    id: str = Field(validation_alias=AliasChoices("source_id", "id"))
    title: str | None = None
    description: str | None = Field(None, validation_alias=AliasChoices("problem_statement", "description"))
    input_format: str | None = None
    output_format: str | None = None
    examples: list[Test] | None = None
    note: str | None = Field(None, validation_alias=AliasChoices("problem_notes", "note"))
    contest_start_year: int | None = None


class Classification(Fields):
    """A model's classification of a problem's judge: reasoning, then JSON with `type` diff, checker or interactor."""

    id: str
    generation: str | None = None


class Codeforces(Records[CodeforcesProblem]):
    """Ag-Codeforces-X (the paper, Appendix B) in its published form: the problems of `nuprl/agnostics-codeforces-cots`.

    Statements of the split "train" are formatted in the styles of `drawn_style`, others with headings. The tests are
    the examples, as in the paper; the last is not shown. Limits of time and memory are ignored, as in the paper.
    Problems without description or examples are left out. The paper trains on more: see `CodeforcesFromSource`.
    The repository is not pinned, because only a part of its commit's hash is known (2d50a2b).
    """

    name: ClassVar[str] = "ag-codeforces-x-published"
    description: ClassVar[str] = "Ag-Codeforces-X as published: a part of the paper's training problems, and its test."
    license: ClassVar[str] = "none stated; its source is CC-BY-4.0"
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    size: ClassVar[str] = "2,305 problems (2,000 train, 200 validation, 105 test)"
    fields: ClassVar[Mapping[str, str]] = {
        "source_id": "id",
        "problem_statement, input_format, output_format, problem_notes": "statement, in one of four styles",
        "examples": "tests; all but the last are samples in the statement",
        "title, contest_start_year": "metadata",
    }
    hub: ClassVar[HubSource] = HubSource("nuprl/agnostics-codeforces-cots", None)
    record = CodeforcesProblem

    def task(self, record: CodeforcesProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        if not record.description or not record.examples:
            return None
        shown = record.examples[:-1]
        sections = Sections(record.description, record.input_format, record.output_format, shown, record.note)
        style = drawn_style(record.id, seed) if split == "train" else WITH_HEADINGS
        about = {"title": record.title, "year": record.contest_start_year, "style": style.name}
        return Task(
            id=f"ag-codeforces-x/{record.id}",
            statement=set_in(style, sections),
            tests=tuple(record.examples),
            metadata={key: value for key, value in about.items() if value},
        )


class CodeforcesFromSource(Codeforces):
    """Ag-Codeforces-X (the paper, Appendix B), derived from `open-r1/codeforces-cots` as in the paper.

    The problems are those of `solutions_py_decontaminated` that `checker_interactor` classifies as `diff`: one correct
    output, and no interaction. Of several classifications of a problem, the last valid one counts. A local source is a
    folder with these two, laid out as in the repository. The held-out problems of the paper (7 hand-picked, 100 random)
    cannot be reproduced; here one problem in 51 is held out by its id, for every seed. Those of the paper are in
    `ag-codeforces-x-published`. Everything else is as there.
    """

    name: ClassVar[str] = "ag-codeforces-x"
    description: ClassVar[str] = "Ag-Codeforces-X: the paper's training problems, made from their source."
    license: ClassVar[str] = "CC-BY-4.0"
    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    size: ClassVar[str] = "about 5,476 problems, as the paper counts them, one in 51 held out"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id, and whether the problem is held out",
        "description, input_format, output_format, note": "statement, in one of four styles",
        "examples": "tests; all but the last are samples in the statement",
        "title, contest_start_year": "metadata",
        "checker_interactor: id, generation": "the problem is left out where its type is not `diff`",
    }
    hub: ClassVar[HubSource] = HubSource(
        "open-r1/codeforces-cots",
        "39ac85c150806230473c70ad72c31f6232fe3f41",
        configuration=_SOLUTIONS,
        columns=(
            "id",
            "title",
            "description",
            "input_format",
            "output_format",
            "examples",
            "note",
            "contest_start_year",
        ),
    )
    stored: ClassVar[str | None] = "train"

    def rows(self, split: str, source: str | None) -> Iterator[Row]:
        """The problems with one correct output; see `Records.rows`."""
        if source is None:
            checkers = replace(self.hub, configuration=_CHECKERS, columns=tuple(Classification.model_fields))
            kinds, rows = hub_rows(checkers, split), hub_rows(self.hub, split)
        else:
            kinds = file_rows(str(Path(source) / _CHECKERS), split, (split,))
            rows = file_rows(str(Path(source) / _SOLUTIONS), split, (split,))
        return _with_one_output(rows, kinds)

    def belongs(self, record: CodeforcesProblem, split: str) -> bool:
        """Whether the record is in the split, by its id alone."""
        return (Random(f"held-out/{record.id}").random() < HELD_OUT) == (split == "test")


def _with_one_output(rows: Iterator[Row], kinds: Iterator[Row]) -> Iterator[Row]:
    """The problems that are classified as `diff`. Only one word per problem is kept in memory."""
    types: dict[str, str] = {}
    for where, row in kinds:
        with complaining(where):
            classification = Classification.model_validate(row)
        if found := _type(classification.generation or ""):
            types[classification.id] = found
    yield from ((where, row) for where, row in rows if _is_kept(row, types))


def _is_kept(row: Any, types: Mapping[str, str]) -> bool:
    name = row.get("id") if isinstance(row, dict) else None
    return (
        not isinstance(name, str) or types.get(name) == "diff"
    )  # a record without an id is rejected when it is validated


def _type(generation: str) -> str | None:
    """The type in the last code block of a classification, which is JSON; None if there is none."""
    blocks = re.findall(r"```\w*\n(.*?)```", generation.rpartition("</think>")[2], re.DOTALL)
    try:
        found = json.loads(blocks[-1])
    except (IndexError, ValueError, RecursionError):
        return None
    return found.get("type") if isinstance(found, dict) else None
