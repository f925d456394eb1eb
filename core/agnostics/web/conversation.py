"""The conversation of an episode on the page of its program: actions, tool calls and observations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from agnostics.store.queries.episodes import StoredTurn
from agnostics.store.views import ToolCallRow, TurnRow, VersionSpanRow
from agnostics.types.code_extraction import markdown_parts
from agnostics.util.column_ranges import LARGEST_INTEGER
from agnostics.web.escaping import Excerpt, excerpt
from agnostics.web.page import Page, download, not_found, number, paginate, path_number, reading
from agnostics.web.queries.episodes import turns_page

TURNS = 16
MOST_ACTION = 12_000
MOST_OBSERVATION = 6_000
MOST_OUTPUT = 3_000
MOST_CALLS = 32


@dataclass(frozen=True, slots=True)
class ActionPart:
    """A part of an action: a code block with its language tag, which may be empty, or prose, whose tag is None."""

    tag: str | None
    text: Excerpt


@dataclass(frozen=True, slots=True)
class ToolCallView:
    """A tool call, in excerpts for the page; the arguments by name."""

    row: ToolCallRow
    arguments: Sequence[tuple[str, Excerpt]]
    output: Excerpt


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn, in excerpts for the page. `left` characters of the action, and `calls_left` tool calls, are left out."""

    row: TurnRow
    policy_versions: tuple[int, ...]
    parts: Sequence[ActionPart]
    left: int
    tool_calls: Sequence[ToolCallView]
    calls_left: int
    observation: Excerpt | None


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """A page of the turns of an episode of `count` turns, 0 for a single answer; spans are of all its tokens."""

    page: Page[TurnView]
    count: int
    version_spans: Sequence[VersionSpanRow]


def conversation(request: Request, connection: Connection, completion_id: int) -> ConversationPage:
    """The turns from the one that the query of the URL says."""
    first = number(request.query_params.get("turn"), "turn", LARGEST_INTEGER) or 1
    found = turns_page(connection, completion_id, TURNS + 1, first)
    page = paginate(request, list(map(_turn, found.turns)), TURNS, "turn", lambda turn: turn.row.number + 1)
    return ConversationPage(page, found.count, found.version_spans)


def full_text(request: Request) -> Response:
    """A whole text of a turn, as a download."""
    with reading(request) as connection:
        turn = _turn_or_404(connection, request).row
    texts = {"action": turn.text, "observation": turn.observation}
    text = texts.get(request.path_params["text"])
    if text is None:
        raise not_found("text")
    return download(text, f"program-{turn.completion_id}-turn-{turn.number}-{request.path_params['text']}.txt")


def full_call_text(request: Request) -> Response:
    """The arguments of a tool call as JSON, or its whole output, as a download."""
    place = path_number(request, "call")
    with reading(request) as connection:
        calls = _turn_or_404(connection, request).tool_calls
    call = next((call for call in calls if call.number == place), None)
    texts = {"arguments": json.dumps(call.arguments), "output": call.output} if call else {}
    name = request.path_params["text"]
    if call is None or name not in texts:
        raise not_found("text")
    return download(texts[name], f"program-{call.completion_id}-turn-{call.turn}-call-{place}-{name}.txt")


def _turn_or_404(connection: Connection, request: Request) -> StoredTurn:
    place = path_number(request, "turn", LARGEST_INTEGER)
    found = turns_page(connection, path_number(request, "program"), 1, place).turns
    if not found or found[0].row.number != place:
        raise not_found("turn")
    return found[0]


def _turn(turn: StoredTurn) -> TurnView:
    row, shown = turn.row, excerpt(turn.row.text, most=MOST_ACTION)
    return TurnView(
        row=row,
        policy_versions=turn.policy_versions,
        parts=_parts(shown.before),
        left=shown.left,
        tool_calls=list(map(_tool_call, turn.tool_calls[:MOST_CALLS])),
        calls_left=max(0, len(turn.tool_calls) - MOST_CALLS),
        observation=None if row.observation is None else excerpt(row.observation, most=MOST_OBSERVATION),
    )


def _parts(text: str) -> list[ActionPart]:
    """The prose and the code blocks; of a text that holds neither, such as a fence alone, the text as it is."""
    parts = [ActionPart(tag, excerpt(part.strip("\n"))) for tag, part in markdown_parts(text) if part.strip()]
    return parts if parts or not text else [ActionPart(None, excerpt(text))]


def _tool_call(call: ToolCallRow) -> ToolCallView:
    arguments = [(name, excerpt(str(value), most=MOST_OUTPUT)) for name, value in call.arguments.items()]
    return ToolCallView(call, arguments, excerpt(call.output, most=MOST_OUTPUT))
