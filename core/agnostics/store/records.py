"""From the nouns to rows: what the database keeps of a completion, a task and a language."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from agnostics.types.language import Language
from agnostics.types.rollout import Phase
from agnostics.types.task import Task
from agnostics.types.verification import CompileResult, Difference, TestResult, Verification

Row = dict[str, Any]

_COMPILED = ("ok", "wall_ms", "cpu_ms", "peak_mb", "exit_code", "signal", "message", "truncated")


class CompletionRecord(Struct, frozen=True, array_like=True, gc=False):
    """One completion with its outcome. `tokens` is a count.

    `reward` is None where the completion was left out of the loss, or not rewarded at all (evaluation).
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


def clean(value: Any) -> Any:
    """`value` as every database can hold it: no NUL or lone surrogate in a text, no number that is not finite.

    Models write anything. A NUL becomes its symbol, a lone surrogate the replacement character, NaN null.
    """
    if isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return value.replace("\0", "\N{SYMBOL FOR NULL}").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean(str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value


def sha256(text: str) -> bytes:
    """The name by which the database finds a text again: 128 bits of it, which nobody finds twice."""
    return hashlib.sha256(text.encode()).digest()[:16]


def _addressed(row: Row) -> Row:
    return {"sha256": sha256(json.dumps(row, sort_keys=True)), **row}


def language_row(language: Language) -> Row:
    """The row of `language`; the programs that its pack brings are no part of how a run used it."""
    definition = language.model_dump(mode="python", exclude={"name", "reference", "contract"})
    return _addressed({"name": language.name, "definition": clean(definition)})


def task_row(task: Task) -> Row:
    """The row of `task`."""
    columns = {"kind", "difficulty", "statement"}
    definition = clean(task.model_dump(mode="python", exclude=columns | {"id"}))
    return _addressed({"key": clean(task.id), **clean(task.model_dump(include=columns)), "definition": definition})


def program_row(text: str) -> Row:
    """The row of a program's text, as `clean` leaves it."""
    return {"sha256": sha256(text), "text": text}


def around(text: str, program: str | None) -> tuple[str, str | None]:
    """What stands in an answer's `text` before and after the program; after is None where the program is not in it."""
    before, found, after = text.partition(program) if program else (text, "", "")
    return (before, after) if found else (text, None)


def completion_row(number: int, record: CompletionRecord) -> Row:
    """The row of the completion with this `number`."""
    before, after = around(clean(record.text), clean(record.verification.program))
    return {
        "id": number,
        "sample": record.sample,
        "before": before,
        "after": after,
        "tokens": record.tokens,
        "finish_reason": record.finish_reason,
        "policy_version": record.policy_version,
    }


def verification_row(number: int, run: str, record: CompletionRecord, task_id: int, program_id: int | None) -> Row:
    """The row of the verification of the completion with this `number`."""
    outcome = record.verification
    return {
        "completion_id": number,
        "run_id": run,
        "phase": record.phase,
        "step": record.step,
        "task_id": task_id,
        "program_id": program_id,
        "verdict": outcome.verdict.value,
        "tests_passed": sum(test.verdict == "accepted" for test in outcome.tests),
        "tests_total": len(record.task.tests),
        "wall_ms": outcome.wall_ms,
        "sandbox": outcome.sandbox,
        "attempts": outcome.attempts,
        "unenforced": list(outcome.unenforced) or None,
        "error": clean(outcome.error),
        **_compile_columns(outcome.compile),
    }


def reward_row(number: int, record: CompletionRecord) -> Row:
    """The row of the reward of the completion with this `number`."""
    return {"completion_id": number, "value": clean(record.reward), "advantage": clean(record.advantage)}


def _compile_columns(result: CompileResult | None) -> Row:
    return {f"compile_{name}": clean(getattr(result, name)) if result else None for name in _COMPILED}


def test_rows(completion_id: int, verification: Verification) -> list[Row]:
    """The rows of the test results of a verification, counted from 1."""
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
        "stdout": clean(test.stdout),
        "stderr": clean(test.stderr),
        "truncated": test.truncated,
        "difference": test.difference and _difference(test.difference),
    }


def _difference(found: Difference) -> Row:
    texts = {"expected": clean(found.expected), "actual": clean(found.actual)}
    return {"index": found.index, "offset": found.offset, **texts}
