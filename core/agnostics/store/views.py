"""The views of the results database as tables to select from, and a typed row of each.

They are what docs/results-database.md promises: the fields of a row are the columns described there, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, MetaData, Table, Text

from agnostics.store.compressed import CompressedText

_TYPES: dict[str, Any] = {
    "str": Text,
    "int": BigInteger,
    "float": Double,
    "bool": Boolean,
    "dict[str, Any]": JSON(none_as_null=True),
}
_COMPRESSED = {"compile_message", "stdout", "stderr"}
_metadata = MetaData()


@dataclass(frozen=True, slots=True)
class VerificationRow:
    """One completion with what became of it."""

    run: str
    language: str
    phase: str
    step: int
    task: str
    kind: str | None
    sample: int
    verdict: str
    tests_passed: int
    tests_total: int
    reward: float | None
    advantage: float | None
    tokens: int
    finish_reason: str
    wall_ms: float
    sandbox: str
    program: str | None
    compile_message: str | None
    completion: str
    completion_id: int


@dataclass(frozen=True, slots=True)
class TestRow:
    """What one test of a program did; `difference` is where the output first left the expected one."""

    __test__ = False  # not a pytest class

    run: str
    language: str
    phase: str
    step: int
    task: str
    completion_id: int
    number: int
    verdict: str
    wall_ms: float
    cpu_ms: float
    peak_mb: float
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    truncated: bool
    difference: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class PassRateRow:
    """How a task fared in one phase and step of a run; failed sandboxes are left out."""

    run: str
    phase: str
    step: int
    task: str
    kind: str | None
    programs: int
    accepted: int
    pass_rate: float


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The completions of one prompt. A `reward_spread` of 0 is a group that teaches nothing."""

    run: str
    language: str
    phase: str
    step: int
    task: str
    kind: str | None
    programs: int
    accepted: int
    pass_rate: float
    mean_reward: float | None
    reward_spread: float | None
    distinct_programs: int
    mean_tokens: float


@dataclass(frozen=True, slots=True)
class FirstSolvedRow:
    """When training first solved a task, after how many attempts (that one included), and by which completion."""

    run: str
    task: str
    kind: str | None
    step: int
    attempts: int
    completion_id: int


def _table(name: str, row: type[Any]) -> Table:
    return Table(name, _metadata, *(_column(field.name, str(field.type)) for field in fields(row)))


def _column(name: str, annotation: str) -> Column[Any]:
    kind = CompressedText if name in _COMPRESSED else _TYPES[annotation.removesuffix(" | None")]
    return Column(name, kind)


verifications = _table("verifications", VerificationRow)
test_results = _table("test_results", TestRow)
pass_rates = _table("pass_rates", PassRateRow)
groups = _table("groups", GroupRow)
first_solved = _table("first_solved", FirstSolvedRow)
