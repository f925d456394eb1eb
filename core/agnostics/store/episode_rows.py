"""Rows of the database for what a completion has as an episode: turns, tool calls, and the versions of its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from agnostics.store.records import CompletionRecord, Row, TurnRecord, sanitize
from agnostics.types.rollout import ToolCallRecord


def turn_rows(completion_id: int, record: CompletionRecord) -> Iterator[Row]:
    """The rows of the turns of a completion, whose text is that of the last one."""
    last = len(record.turns)
    for number, turn in enumerate(record.turns, 1):
        yield _turn_row(completion_id, number, turn, has_text=number < last)


def tool_call_rows(completion_id: int, record: CompletionRecord) -> Iterator[Row]:
    """The rows of the tool calls of a completion, numbered in each turn."""
    for turn_number, turn in enumerate(record.turns, 1):
        for number, call in enumerate(turn.tool_calls, 1):
            yield _tool_call_row(completion_id, turn_number, number, call)


def version_span_rows(completion_id: int, record: CompletionRecord) -> Iterator[Row]:
    """The rows of the policy versions of a completion's tokens."""
    for span in record.version_spans:
        yield {
            "completion_id": completion_id,
            "first_token": span.first_token,
            "tokens": span.tokens,
            "policy_version": span.policy_version,
        }


def _turn_row(completion_id: int, number: int, turn: TurnRecord, *, has_text: bool) -> Row:
    return {
        "completion_id": completion_id,
        "number": number,
        "tokens": turn.tokens,
        "finish_reason": sanitize(turn.finish_reason),
        "observation_tokens": turn.observation_tokens,
        "verdict": turn.verdict,
        "reward": sanitize(turn.reward),
        "sampling_us": round(turn.sampling_ms * 1000),
        "environment_us": round(turn.environment_ms * 1000),
        "text": sanitize(turn.text) if has_text else None,
        "observation": sanitize(turn.observation),
    }


def _tool_call_row(completion_id: int, turn: int, number: int, call: ToolCallRecord) -> Row:
    return {
        "completion_id": completion_id,
        "turn": turn,
        "number": number,
        "tool": sanitize(call.tool),
        "ok": call.ok,
        "wall_us": round(call.wall_ms * 1000),
        "arguments": sanitize(call.arguments),
        "output": sanitize(call.output),
    }
