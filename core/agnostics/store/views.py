"""The views of the results database as tables to select from, and a typed row of each.

The fields of a row are the columns that docs/results-database.md documents, in that order.
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
_COMPRESSED = {"compile_message", "stdout", "stderr", "text", "observation", "output"}
_metadata = MetaData()


@dataclass(frozen=True, slots=True)
class VerificationRow:
    """One completion with its verification and reward; of an episode, `completion` is the last action."""

    run: str
    language: str
    phase: str
    step: int
    task: str
    family: str | None
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
    """The result of one test of a program; `difference` is the first difference from the expected output."""

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
    """The pass rate of a task in one phase and step of a run; sandbox errors are left out."""

    run: str
    phase: str
    step: int
    task: str
    family: str | None
    programs: int
    accepted: int
    pass_rate: float


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The completions of one prompt. A `reward_std` of 0 is a zero-variance group, without gradient."""

    run: str
    language: str
    phase: str
    step: int
    task: str
    family: str | None
    programs: int
    accepted: int
    pass_rate: float
    mean_reward: float | None
    reward_std: float | None
    distinct_programs: int
    mean_tokens: float


@dataclass(frozen=True, slots=True)
class FirstSolvedRow:
    """The first training step in which a task was solved, the attempts up to then (inclusive), and the completion."""

    run: str
    task: str
    family: str | None
    step: int
    attempts: int
    completion_id: int


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One completion as an episode; a single answer is one of a turn. `solved_at_turn` is None if it is not solved."""

    run: str
    language: str
    phase: str
    step: int
    task: str
    family: str | None
    sample: int
    verdict: str
    reward: float | None
    turns: int
    sampled_tokens: int
    observation_tokens: int
    tool_calls: int
    failed_tool_calls: int
    solved_at_turn: int | None
    completion_id: int


@dataclass(frozen=True, slots=True)
class TurnRow:
    """An action and what the environment answered; verdict and reward are the turn's own.

    The times of a single answer are None: they are not stored.
    """

    run: str
    phase: str
    step: int
    task: str
    completion_id: int
    number: int
    text: str
    tokens: int
    finish_reason: str
    observation: str | None
    observation_tokens: int
    verdict: str | None
    reward: float | None
    sampling_ms: float | None
    environment_ms: float | None


@dataclass(frozen=True, slots=True)
class ToolCallRow:
    """A tool call of a turn; `ok` is false for one that failed or could not be read."""

    run: str
    phase: str
    step: int
    task: str
    completion_id: int
    turn: int
    number: int
    tool: str
    arguments: dict[str, Any]
    output: str
    ok: bool
    wall_ms: float


@dataclass(frozen=True, slots=True)
class VersionSpanRow:
    """Consecutive sampled tokens of one policy version; the index of the first one counts from 0."""

    run: str
    phase: str
    step: int
    completion_id: int
    first_token: int
    tokens: int
    policy_version: int


@dataclass(frozen=True, slots=True)
class CompletionMetricRow:
    """What the environment has measured of a completion, by name; None if it was not a finite number."""

    run: str
    phase: str
    step: int
    task: str
    family: str | None
    verdict: str
    completion_id: int
    name: str
    value: float | None


def _table(name: str, row: type[Any]) -> Table:
    return Table(name, _metadata, *(_column(field.name, str(field.type)) for field in fields(row)))


def _column(name: str, annotation: str) -> Column[Any]:
    type_ = CompressedText if name in _COMPRESSED else _TYPES[annotation.removesuffix(" | None")]
    return Column(name, type_)


verifications = _table("verifications", VerificationRow)
test_results = _table("test_results", TestRow)
pass_rates = _table("pass_rates", PassRateRow)
groups = _table("groups", GroupRow)
first_solved = _table("first_solved", FirstSolvedRow)
episodes = _table("episodes", EpisodeRow)
turns = _table("turns", TurnRow)
tool_calls = _table("tool_calls", ToolCallRow)
version_spans = _table("version_spans", VersionSpanRow)
completion_metrics = _table("completion_metrics", CompletionMetricRow)
NAMES = tuple(_metadata.tables)
"""The names of all views."""
