"""A model whose calls are recorded, for those who ask it without the gateway."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

from agnostics.gateway.api import model_error
from agnostics.gateway.chat_completions import ChatCompletions, request_json
from agnostics.gateway.conversation import ModelBackend, ModelReply, ModelRequest
from agnostics.gateway.recording import CallRecorder, ModelCall
from agnostics.types.errors import AgnosticsError

_API = ChatCompletions()


class RecordedBackend:
    """Passes requests to a model, and records each as a call of chat completions, with the status of its error."""

    def __init__(self, backend: ModelBackend, recorder: CallRecorder) -> None:
        self.model, self.context_tokens = backend.model, backend.context_tokens
        self._backend, self._recorder = backend, recorder

    def complete(self, request: ModelRequest) -> ModelReply:
        """See `ModelBackend.complete`."""
        at, began = datetime.now(UTC), time.monotonic()
        body = request_json(request, self.model)
        try:
            reply = self._backend.complete(request)
        except AgnosticsError as cause:
            error = model_error(cause)
            self._record(at, began, error.status, body, _API.error(error), ModelReply("", (), 0, 0))
            raise
        self._record(at, began, 200, body, _API.reply(reply, _API.parse(body, request.max_tokens)), reply)
        return reply

    def _record(
        self, at: datetime, began: float, status: int, request: object, response: object, reply: ModelReply
    ) -> None:
        self._recorder.record(
            ModelCall(
                at=at,
                api=_API.name,
                model=self.model,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                seconds=time.monotonic() - began,
                status=status,
                request=json.dumps(request),
                response=json.dumps(response),
            )
        )
