"""Rows of the database for completions, verifications, tasks and languages."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from agnostics.types.language import Language
from agnostics.types.rollout import Phase, ToolCallRecord
from agnostics.types.task import Task
from agnostics.types.verification import CompileResult, Difference, TestResult, Verification

Row = dict[str, Any]


_COMPILED = ("ok", "wall_ms", "cpu_ms", "peak_mb", "exit_code", "signal", "message", "truncated")


class TurnRecord(Struct, frozen=True, array_like=True, gc=False):
    """A turn of an episode: `agnostics.types.rollout.Turn` with the verdict alone of its verification."""

    text: str
    tokens: int
    finish_reason: str
    observation: str | None
    observation_tokens: int
    verdict: str | None
    reward: float | None
    tool_calls: tuple[ToolCallRecord, ...]
    sampling_ms: float
    environment_ms: float


class VersionSpan(Struct, frozen=True, array_like=True, gc=False):
    """Consecutive sampled tokens of one policy version; the index of the first one counts from 0."""

    first_token: int
    tokens: int
    policy_version: int


class CompletionRecord(Struct, frozen=True, array_like=True, gc=False):
    """One completion with its verification. `tokens` is a count.

    `reward` is None if the completion was left out of the loss, or is not rewarded at all (evaluation). A single answer
    has no `turns`, and a completion that one policy version sampled no `version_spans`.
    """

    step: int
    phase: Phase
    task: Task
    sample: int
    text: str
    tokens: int
    finish_reason: str
    policy_version: int
    verification: Verification
    reward: float | None = None
    advantage: float | None = None
    turns: tuple[TurnRecord, ...] = ()
    version_spans: tuple[VersionSpan, ...] = ()


def sanitize(value: Any) -> Any:
    """`value` in a form that every database can hold: no NUL or lone surrogate in a text, only finite numbers.

    Completions contain arbitrary text. A NUL becomes its symbol, a lone surrogate the replacement character, NaN null.
    """
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return value.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {sanitize(str(key)): sanitize(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sanitize(item) for item in value]
    return value


def digest(text: str) -> bytes:
    """The key of a shared text: the first 128 bits of its SHA-256."""
    return hashlib.sha256(text.encode()).digest()[:16]


def _content_addressed(row: Row) -> Row:
    return {"sha256": digest(json.dumps(row, sort_keys=True)), **row}


def language_row(language: Language) -> Row:
    """The row of `language`, without its reference programs, which do not affect a run."""
    definition = language.model_dump(mode="python", exclude={"name", "reference", "contract"})
    return _content_addressed({"name": language.name, "definition": sanitize(definition)})


def task_row(task: Task) -> Row:
    """The row of `task`."""
    columns = {"family", "difficulty", "statement"}
    definition = sanitize(task.model_dump(mode="python", exclude=columns | {"id"}))
    return _content_addressed(
        {"key": sanitize(task.id), **sanitize(task.model_dump(include=columns)), "definition": definition}
    )


def program_row(text: str) -> Row:
    """The row of a program's text, which is sanitized already."""
    return {"sha256": digest(text), "text": text}


def split_at_program(text: str, program: str | None) -> tuple[str, str | None]:
    """The parts of `text` before and after `program`; the whole text and None if it does not contain the program."""
    before, separator, after = text.partition(program) if program else (text, "", "")
    return (before, after) if separator else (text, None)


def completion_row(id_: int, record: CompletionRecord) -> Row:
    """The row of the completion with this id."""
    before, after = split_at_program(sanitize(record.text), sanitize(record.verification.program))
    return {
        "id": id_,
        "sample": record.sample,
        "before": before,
        "after": after,
        "tokens": record.tokens,
        "finish_reason": record.finish_reason,
        "policy_version": record.policy_version,
    }


def verification_row(
    completion_id: int, run: str, record: CompletionRecord, task_id: int, program_id: int | None
) -> Row:
    """The row of the verification of this completion."""
    verification = record.verification
    return {
        "completion_id": completion_id,
        "run_id": run,
        "phase": record.phase,
        "step": record.step,
        "task_id": task_id,
        "program_id": program_id,
        "verdict": verification.verdict.value,
        "tests_passed": sum(test.verdict == "accepted" for test in verification.tests),
        "tests_total": len(record.task.tests),
        "wall_ms": verification.wall_ms,
        "sandbox": verification.sandbox,
        "attempts": verification.attempts,
        "unenforced": list(verification.unenforced) or None,
        "error": sanitize(verification.error),
        **_compile_columns(verification.compile),
    }


def reward_row(completion_id: int, record: CompletionRecord) -> Row:
    """The row of the reward of this completion."""
    return {"completion_id": completion_id, "value": sanitize(record.reward), "advantage": sanitize(record.advantage)}


def _compile_columns(result: CompileResult | None) -> Row:
    return {f"compile_{name}": sanitize(getattr(result, name)) if result else None for name in _COMPILED}


def metric_rows(completion_id: int, record: CompletionRecord) -> list[Row]:
    """The rows of what the environment has measured of this completion."""
    metrics = record.verification.metrics.items()
    return [{"completion_id": completion_id, "name": name, "value": sanitize(value)} for name, value in metrics]


def test_rows(completion_id: int, verification: Verification) -> list[Row]:
    """The rows of the test results of a verification, numbered from 1."""
    return [_test_row(completion_id, number, test) for number, test in enumerate(verification.tests, 1)]


def _test_row(completion_id: int, number: int, test: TestResult) -> Row:
    return {
        "completion_id": completion_id,
        "number": number,
        "verdict": test.verdict.value,
        "wall_us": round(test.wall_ms * 1000),
        "cpu_us": round(test.cpu_ms * 1000),
        "peak_kb": round(test.peak_mb * 1024),
        "exit_code": test.exit_code,
        "signal": test.signal,
        "stdout": sanitize(test.stdout),
        "stderr": sanitize(test.stderr),
        "truncated": test.truncated,
        "difference": test.difference and _difference(test.difference),
    }


def _difference(difference: Difference) -> Row:
    texts = {"expected": sanitize(difference.expected), "actual": sanitize(difference.actual)}
    return {"index": difference.index, "offset": difference.offset, **texts}
