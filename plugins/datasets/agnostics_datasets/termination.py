"""The `termination` adapter: programs with the label whether they end on every input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from agnostics import LimitOverrides, Task, Test
from pydantic import Field

from agnostics_datasets.records import Fields, Records


class TerminationRecord(Fields):
    """The fields of a program that are read."""

    id: str
    program: str
    language: str
    label: Literal["T", "NT"]
    statement: str = ""
    seconds: float = Field(5.0, gt=0)


class TerminationPrograms(Records[TerminationRecord]):
    """Programs that read standard input, `T` if they end on every input and `NT` if they do not, as in HaltEval."""

    name: ClassVar[str] = "termination"
    description: ClassVar[str] = "Your own programs with the label whether they end on every input."
    license: ClassVar[str] = "that of the file"
    splits: ClassVar[tuple[str, ...]] = ("test", "validation", "train")
    size: ClassVar[str] = "as many tasks as the file has records"
    fields: ClassVar[Mapping[str, str]] = {
        "id": "id",
        "program, language": "the program that is asked about",
        "label": "the output of the only test: `T` or `NT`, also a tag",
        "statement": "statement: what the program reads",
        "seconds": "the time limit past which a program counts as divergent, 5 by default",
    }
    record = TerminationRecord

    def task(self, record: TerminationRecord, number: int, split: str, seed: int) -> Task:
        """The task of a program; see `Records.task`."""
        return Task(
            id=record.id,
            statement=record.statement,
            tests=(Test(input="", output=record.label),),
            limits=LimitOverrides(run_s=record.seconds),
            tags=(record.label,),
            metadata={"program": record.program, "language": record.language},
        )
