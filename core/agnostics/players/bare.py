"""The player `bare`: a model without agent software, which calls the operations of the session as tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from agnostics.environments.tools.announcement import announcement
from agnostics.environments.tools.call import MalformedCall, ToolCall, parse_calls, resolve_call
from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.json_call import one_json_call
from agnostics.environments.tools.tool import Tool, ToolLimits
from agnostics.gateway.conversation import (
    ChatMessage,
    FunctionCall,
    FunctionTool,
    ModelBackend,
    ModelReply,
    ModelRequest,
)
from agnostics.gateway.recorded import RecordedBackend
from agnostics.inference.openai_client import ContextExceeded
from agnostics.players.model_player import OUTPUT_TOKENS, ModelPlayer
from agnostics.players.player import Game
from agnostics.players.referee_tools import session_tools
from agnostics.players.session_calls import SessionCalls
from agnostics.referee.prompt import tool_prompt

_LIMITS = ToolLimits(characters=20_000)
_MAX_CALLS = 20
"""Calls of one message that are carried out."""
_REMINDERS = 2
_REPEATS = 5
"""Messages with the same calls and results, after which a model is taken to be stuck."""
_IDLE_CONVERSATIONS = 3
_FRESH = 2
"""Messages of a conversation that has just begun."""
_BEGIN = "Begin: call fetch."
_AGAIN = "The session goes on, and files are kept. Begin: call fetch."
_REMINDER = "The session is not finished. Go on: call a tool{form}\n\n{status}"
_CUT_OFF = "Your message has reached its limit of {tokens} tokens, and was cut off there.\n\n"
_FORMS = {
    "tools": ".",
    "text": ", as in:\n<tool: status>\n</tool>",
    "qwen": ', as in:\n<tool_call>\n{"name": "status", "arguments": {}}\n</tool_call>',
    "llama": ', as in:\n{"name": "status", "parameters": {}}',
    "mistral": ", as in:\n[TOOL_CALLS]status[ARGS]{}",
    "mistral_list": ', as in:\n[TOOL_CALLS][{"name": "status", "arguments": {}}]',
}
"""How a call is written, in a reminder: a model that calls nothing may have the form wrong."""


@dataclass
class BareModel(ModelPlayer):
    """Asks a model for one message after another, and carries out the calls in it, until the session is finished.

    It ends after `turns` messages. A conversation that has become too long for the model is begun again; so is one that
    is stuck: the model has called no tool though it was told twice to go on, or has sent the same calls five times in a
    row, with the same results. After three stuck ones in a row in which no operation was carried out, it ends.
    """

    form: Literal["tools"] | CallForm = "tools"
    """How the model calls tools: as its API has it, or in its text, in one of the forms of environments."""
    turns: Annotated[int, Field(ge=1)] = 2000
    """The most messages of the model."""
    temperature: float | None = None
    """Of the model; its default if there is none."""

    name = "bare"
    description = "A model without agent software: it calls the session's operations as tools."

    def play(self, game: Game) -> None:
        """See `Player.play`."""
        with self.backend(game) as backend:
            recorded = RecordedBackend(backend, SessionCalls(game.store, game.referee.name))
            _Match(game, recorded, self).play()


@dataclass
class _Progress:
    """What a conversation has come to, which began after `operations` of the session."""

    operations: int
    _silent: int = 0
    _same: int = 0
    _last: object = None

    @property
    def is_stuck(self) -> bool:
        """Whether it calls nothing any more, or always the same."""
        return self._silent > _REMINDERS or self._same >= _REPEATS

    def add(self, reply: ModelReply, results: Sequence[ChatMessage]) -> None:
        """Count a message."""
        calls = [(call.name, call.arguments) for call in reply.calls] or reply.text
        turn = (calls, [result.text for result in results])
        self._silent = 0 if results else self._silent + 1
        self._same = self._same + 1 if turn == self._last else 1
        self._last = turn


class _Match:
    """A session of this player."""

    def __init__(self, game: Game, backend: ModelBackend, player: BareModel) -> None:
        self._game, self._backend, self._player = game, backend, player
        self._tools = session_tools(game.referee)
        protocol = game.referee.state.protocol
        tools = [_function_tool(tool) for tool in self._tools] if player.form == "tools" else []
        self._request = ModelRequest(
            (*self._rules(), ChatMessage("user", _BEGIN)),
            max_tokens=protocol.output_tokens or OUTPUT_TOKENS,
            tools=tuple(tools),
            temperature=player.temperature,
        )
        self._progress = _Progress(game.referee.state.operations)

    def play(self) -> None:
        idle = 0
        for _ in range(self._player.turns):
            if self._game.referee.state.all_done:
                return
            if self._progress.is_stuck:
                idle = idle + 1 if self._game.referee.state.operations == self._progress.operations else 0
                if idle == _IDLE_CONVERSATIONS:
                    return
                self._begin_again()
            self._turn()

    def _turn(self) -> None:
        reply = self._complete()
        results = list(self._results(reply))
        self._progress.add(reply, results)
        self._append(reply.message, *(results or [ChatMessage("user", self._reminder(reply))]))
        self._game.save_workspace()

    def _rules(self) -> Iterator[ChatMessage]:
        """The system prompt; in a text form with the tools, which the endpoint is not told of."""
        form = self._player.form
        described = [] if form == "tools" else [announcement(self._tools, form)]
        referee = self._game.referee
        rules = tool_prompt(self._game.language, referee.state.protocol, referee.problems)
        yield ChatMessage("system", "\n\n".join([rules, *described]))

    def _complete(self) -> ModelReply:
        """The next message of the model. Raises ContextExceeded if a conversation that has just begun is too long."""
        try:
            return self._backend.complete(self._request)
        except ContextExceeded:
            if len(self._request.messages) <= _FRESH:
                raise
            self._begin_again()
            return self._backend.complete(self._request)

    def _begin_again(self) -> None:
        self._request = replace(self._request, messages=(*self._rules(), ChatMessage("user", _AGAIN)))
        self._progress = _Progress(self._game.referee.state.operations)

    def _append(self, *messages: ChatMessage) -> None:
        self._request = replace(self._request, messages=(*self._request.messages, *messages))

    def _results(self, reply: ModelReply) -> Iterator[ChatMessage]:
        """The results of the calls in a reply, as messages; also of calls that a server left in its text."""
        for number, call in enumerate(reply.calls):
            text = self._carry_out(_tool_call(call, self._tools)) if number < _MAX_CALLS else "not carried out"
            yield ChatMessage("tool", text, call_id=call.id)
        form: CallForm = "qwen" if self._player.form == "tools" else self._player.form
        if not reply.calls and (calls := parse_calls(reply.text, form, self._tools)):
            texts = (f"Result of {_name(call)}:\n{self._carry_out(call)}" for call in calls[:_MAX_CALLS])
            yield ChatMessage("user", self._cut_off(reply) + "\n\n".join(texts))

    def _carry_out(self, call: ToolCall | MalformedCall) -> str:
        if isinstance(call, MalformedCall):
            return call.reason
        assert self._game.box is not None
        tool = next(tool for tool in self._tools if tool.name == call.name)
        return tool.run(self._game.box, call.arguments, _LIMITS).output

    def _reminder(self, reply: ModelReply) -> str:
        return self._cut_off(reply) + _REMINDER.format(form=_FORMS[self._player.form], status=self._status())

    def _cut_off(self, reply: ModelReply) -> str:
        return _CUT_OFF.format(tokens=self._request.max_tokens) if reply.truncated else ""

    def _status(self) -> str:
        """The status without a line for each problem."""
        referee = self._game.referee
        lines = referee.status().text.splitlines()
        return "\n".join(lines[: 2 if referee.state.current else 1])


def _name(call: ToolCall | MalformedCall) -> str:
    return call.name if isinstance(call, ToolCall) else "a call"


def _function_tool(tool: Tool) -> FunctionTool:
    function = tool.schema["function"]
    return FunctionTool(function["name"], function["description"], function["parameters"])


def _tool_call(call: FunctionCall, tools: Sequence[Tool]) -> ToolCall | MalformedCall:
    """A call of the API, read as those in a text are."""
    return resolve_call(
        one_json_call(f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments or "{}"}}}'), tools
    )
