"""The player `direct`: a model without tools, each of whose messages is a program that is submitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agnostics.gateway.conversation import ChatMessage, ModelBackend, ModelReply, ModelRequest
from agnostics.gateway.recorded import RecordedBackend
from agnostics.inference.openai_client import ContextExceeded
from agnostics.players.model_player import OUTPUT_TOKENS, ModelPlayer
from agnostics.players.player import Game
from agnostics.players.session_calls import SessionCalls
from agnostics.referee.grading import why_too_large
from agnostics.referee.prompt import program_prompt
from agnostics.referee.replies import Reply
from agnostics.types.errors import AgnosticsError

_AGAIN = "{feedback}\n\nWrite the whole program again."


@dataclass
class DirectModel(ModelPlayer):
    """Shows a model one problem after another, and submits the program in each of its messages.

    Each problem is a conversation of its own: after a submission that fails the model is told what it gave, and writes
    the program again. A message without a program is an empty submission, and so is one of more than 1 MiB; a
    conversation that has become too long for the model begins again. So every session is complete, also that of a
    model that cannot call tools. Nothing is run before it is submitted.
    """

    temperature: float | None = None
    """Of the model; its default if there is none."""

    name = "direct"
    description = "A model without tools: the program in each of its messages is submitted."
    needs_box = False

    def play(self, game: Game) -> None:
        """See `Player.play`."""
        with self.backend(game) as backend:
            recorded = RecordedBackend(backend, SessionCalls(game.store, game.referee.name))
            while not game.referee.state.all_done:
                _solve(game, recorded, self.temperature)


def _solve(game: Game, backend: ModelBackend, temperature: float | None) -> None:
    """Submit programs until the open problem, or the next one, is final. Raises ContextExceeded if it is too long."""
    referee, protocol = game.referee, game.referee.state.protocol
    opened = _carried_out(referee.fetch()).data
    begun = (
        ChatMessage("system", program_prompt(game.language, protocol)),
        ChatMessage("user", opened["statement"].strip()),
    )
    request = ModelRequest(begun, max_tokens=protocol.output_tokens or OUTPUT_TOKENS, tools=(), temperature=temperature)
    while referee.state.current is not None:
        request, answer = _answer(backend, request, begun)
        submitted = _carried_out(referee.submit(opened["problem"], _program(game, answer)))
        told = ChatMessage("user", _AGAIN.format(feedback=submitted.text))
        request = replace(request, messages=(*request.messages, answer.message, told))


def _answer(
    backend: ModelBackend, request: ModelRequest, begun: tuple[ChatMessage, ...]
) -> tuple[ModelRequest, ModelReply]:
    """The next message of the model, and the conversation that it answers: from its beginning if it was too long."""
    try:
        return request, backend.complete(request)
    except ContextExceeded:
        if request.messages == begun:
            raise
        again = replace(request, messages=begun)
        return again, backend.complete(again)


def _program(game: Game, answer: ModelReply) -> str:
    program = game.language.program_in(answer.text) or ""
    return "" if why_too_large(program) else program


def _carried_out(reply: Reply) -> Reply:
    if not reply.ok:
        raise AgnosticsError(f"the session cannot go on: {reply.text.splitlines()[0]}")
    return reply
