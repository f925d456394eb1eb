"""From a request to its reply: the language is found, the program submitted, and the result made a line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeAlias

from agnostics.types.errors import AgnosticsError, describe_error
from agnostics.types.language import Language
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from agnostics.verify_stream.format import Malformed, VerifyRequest, malformed_line, verified_line

log = logging.getLogger("agnostics")

Reply: TypeAlias = "Malformed | tuple[Any, Future[Verification]]"
"""An error, or the id of a request with its finished verification."""


class RequestVerifier:
    """Verifies the programs of requests; `find_language` gives a language by its name, or raises UsageError."""

    def __init__(self, verifier: Verifier, find_language: Callable[[str], Language]) -> None:
        self._verifier = verifier
        self._find_language = find_language

    def submit(self, request: VerifyRequest | Malformed, done: Callable[[Reply], None]) -> None:
        """Submit the program of a request; `done` gets the reply, on whichever thread it is ready.

        Blocks while the sandbox's queue is full. Raises nothing: an error of the request is a reply.
        """
        if isinstance(request, Malformed):
            done(request)
            return
        request_id = request.id
        try:
            future = self._submit(request)
        except AgnosticsError as error:
            done(Malformed(request_id, str(error)))
        except Exception as error:  # of a language from a plugin: the others go on, and the log has the traceback
            log.exception("the language %r failed", request.language)
            done(Malformed(request_id, f"the language failed: {describe_error(error)}"))
        else:
            future.add_done_callback(lambda finished: done((request_id, finished)))

    def _submit(self, request: VerifyRequest) -> Future[Verification]:
        language = self._find_language(request.language)
        program = request.program_in(language)
        return self._verifier.submit(language, program, request.task(), stop_on_failure=request.stop_on_failure)


def reply_line(reply: Reply) -> dict[str, Any]:
    """The line that tells of a reply."""
    if isinstance(reply, Malformed):
        return malformed_line(reply)
    request_id, done = reply
    error = done.exception()
    if error is None:
        return verified_line(request_id, done.result())
    return malformed_line(
        Malformed(request_id, str(error) if isinstance(error, AgnosticsError) else describe_error(error))
    )
