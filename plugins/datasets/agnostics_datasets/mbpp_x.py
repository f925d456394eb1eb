"""The `ag-mbpp-x` adapter: MBPP, reformulated by a model for standard input and output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics import HubSource, Task, Test

from agnostics_datasets.contest_prompt import WITH_HEADINGS, Sections, set_in
from agnostics_datasets.records import Fields, Records


class MbppXProblem(Fields):
    """The fields of a problem that are read."""

    original_task_id: int
    description: str
    input_format: str | None = None
    output_format: str | None = None
    tests: list[Test]


class MbppX(Records[MbppXProblem]):
    """Ag-MBPP-X (the paper, sections 3.1 and Appendix B), from `nuprl/mbpp-agnostic-translation`, all of it.

    The splits are MBPP's, by its task ids: 11 to 510 are the split "test", 511 to 600 "validation", 601 to 974 and the
    few-shot examples 1 to 10 "train", as the paper trains on both. The first test is shown as a sample if there are
    more. A model wrote the statements and their tests, which were not verified: a problem without tests, or with two
    that expect different outputs for one input, is left out. No licence is stated; MBPP is CC-BY-4.0.
    """

    name: ClassVar[str] = "ag-mbpp-x"
    description: ClassVar[str] = "Ag-MBPP-X: the paper's basic problems, MBPP reformulated for any language."
    license: ClassVar[str] = "none stated; MBPP is CC-BY-4.0"
    splits: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    size: ClassVar[str] = "776 problems of MBPP's 974"
    fields: ClassVar[Mapping[str, str]] = {
        "original_task_id": "id, and the split",
        "description, input_format, output_format": "statement",
        "tests": "tests; the first is a sample in the statement",
    }
    hub: ClassVar[HubSource] = HubSource(
        "nuprl/mbpp-agnostic-translation", "a32a76fa8a7ae4b6b2eeee31e086d1b33635940c", configuration="full"
    )
    stored: ClassVar[str | None] = "train"
    record = MbppXProblem

    def belongs(self, record: MbppXProblem, split: str) -> bool:
        """The split of a problem, by its id."""
        number = record.original_task_id
        return split == ("test" if 11 <= number <= 510 else "validation" if 511 <= number <= 600 else "train")

    def task(self, record: MbppXProblem, number: int, split: str, seed: int) -> Task | None:
        """The task of a problem; see `Records.task`."""
        if not record.tests or _contradict_each_other(record.tests):
            return None
        samples = record.tests[:1] if len(record.tests) > 1 else []
        sections = Sections(record.description, record.input_format, record.output_format, samples, None)
        return Task(
            id=f"{self.name}/{record.original_task_id}",
            statement=set_in(WITH_HEADINGS, sections),
            tests=tuple(record.tests),
        )


def _contradict_each_other(tests: list[Test]) -> bool:
    """Whether two tests have the same input and different outputs, as tokens."""
    outputs: dict[str, list[str]] = {}
    return any(outputs.setdefault(test.input.strip(), test.output.split()) != test.output.split() for test in tests)
