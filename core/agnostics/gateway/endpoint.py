"""A model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

from agnostics.gateway.api import new_id
from agnostics.gateway.chat_completions import message_json, tool_choice_json, tool_json
from agnostics.gateway.conversation import FunctionCall, ModelReply, ModelRequest
from agnostics.inference.openai_client import Endpoint


class EndpointBackend:
    """Answers with the model of an endpoint, whose counts of tokens it passes on."""

    context_tokens: int | None = None

    def __init__(self, endpoint: Endpoint) -> None:
        self.model = endpoint.model
        self._endpoint = endpoint

    def complete(self, request: ModelRequest) -> ModelReply:
        """See `ModelBackend.complete`."""
        completion = self._endpoint.chat(
            [message_json(message) for message in request.messages],
            max_tokens=request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            tools=[tool_json(tool) for tool in request.tools],
            tool_choice=tool_choice_json(request.tool_choice),
        )
        calls = [
            FunctionCall(call.id or new_id("call"), call.function.name, call.function.arguments)
            for call in completion.calls
        ]
        tokens = completion.prompt_tokens, completion.completion_tokens
        return ModelReply(completion.text, tuple(calls), *tokens, completion.truncated)
