"""A model of this machine behind the gateway: an engine answers requests with messages and calls."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from agnostics.environments.tools.call import raw_calls, text_before_calls
from agnostics.environments.tools.tool import ArgumentError, ToolInterface
from agnostics.gateway.api import json_object, new_id
from agnostics.gateway.conversation import FunctionCall, ModelReply, ModelRequest
from agnostics.inference.engine import Completion, CompletionRequest, SamplingParams, seed_for
from agnostics.inference.openai_client import ContextExceeded
from agnostics.rollout.chat_tokens import ChatTokens
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.detokenizer import Detokenizer
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.types.code_extraction import strip_reasoning
from agnostics.types.errors import AgnosticsError, describe_error

_GREEDY = 1e-4
"""Stands for the temperature 0, by which engines would divide."""


class EngineBackend:
    """Answers with the model of an engine, called `model`, that holds `context_tokens`; see `ModelBackend`.

    Tokens are those that the engine gets and samples. A reply is as long as the context has room. A choice of a tool
    offers that one alone; the model is not forced to call it, nor any by the choice `required`, which agents send.
    Without a temperature of its own a request has `temperature`; without a seed, one that follows from `seed` and its
    number.
    """

    def __init__(
        self,
        model: str,
        engine: EngineLoop,
        renderer: ConversationRenderer,
        context_tokens: int,
        *,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.model, self.context_tokens = model, context_tokens
        self._engine, self._chat = engine, ChatTokens(renderer)
        self._detokenizer = Detokenizer(renderer.tokenizer)
        self._temperature, self._seed = temperature, seed
        self._asked = 0
        self._lock = threading.Lock()

    def complete(self, request: ModelRequest) -> ModelReply:
        """See `ModelBackend.complete`."""
        offered = _with_chosen_tools(request)
        with self._lock:
            prompt_ids = self._chat.prompt(offered)
            seed = seed_for(self._seed, self._asked) if request.seed is None else seed_for(request.seed)
            self._asked += 1
        completion = self._sample(CompletionRequest(prompt_ids, seed, may_be_continued=True), request)
        with self._lock:
            reply = self._reply(offered, len(prompt_ids), completion)
            self._chat.add_answer(offered, reply.message, (*prompt_ids, *completion.token_ids))
        return reply

    def _sample(self, wanted: CompletionRequest, request: ModelRequest) -> Completion:
        size = len(wanted.prompt_ids)
        room = self.context_tokens - size
        if room < 1:
            raise ContextExceeded(
                f"the conversation has {size} tokens; the model {self.model} holds {self.context_tokens}"
            )
        temperature = self._temperature if request.temperature is None else request.temperature
        params = SamplingParams(max(temperature, _GREEDY), min(request.max_tokens, room))
        sampled = list[Completion]()
        done = self._engine.submit([wanted], params, lambda _, completion: sampled.append(completion))
        try:
            self._engine.wait(done, "answer a request")
        except AgnosticsError:
            raise
        except Exception as error:
            raise AgnosticsError(f"the model {self.model} failed: {describe_error(error)}") from error
        return sampled[0]

    def _reply(self, request: ModelRequest, prompt_tokens: int, completion: Completion) -> ModelReply:
        text = strip_reasoning(self._detokenizer.text(completion.token_ids))
        calls = tuple(self._calls(text)) if request.tools else ()
        if calls:
            text = text_before_calls(text, self._chat.form)
        truncated = completion.finish_reason == "length"
        return ModelReply(text, calls, prompt_tokens, len(completion.token_ids), truncated)

    def _calls(self, answer: str) -> Iterator[FunctionCall]:
        """The calls in an answer, of any names; what is none of a well-formed call stays text."""
        for raw in raw_calls(answer, self._chat.form):
            if isinstance(raw, ArgumentError):
                continue
            with suppress(ArgumentError):
                yield FunctionCall(new_id("call"), raw.name, raw.arguments_for(_FUNCTION)["arguments"])


class _Function(ToolInterface):
    """Any function: its arguments are kept as the text of a JSON object, which its caller checks."""

    name = "function"
    description = "A function of a client."
    parameters: ClassVar[Mapping[str, str]] = {}
    usage = "[arguments]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        return self.arguments_in(json_object(content))

    def arguments_in(self, given: Mapping[str, object]) -> Mapping[str, str]:
        return {"arguments": json.dumps(given)}


_FUNCTION = _Function()


def _with_chosen_tools(request: ModelRequest) -> ModelRequest:
    """The request with the tools that its choice leaves."""
    if request.tool_choice in ("auto", "required"):
        return request
    return replace(request, tools=tuple(tool for tool in request.tools if tool.name == request.tool_choice))
