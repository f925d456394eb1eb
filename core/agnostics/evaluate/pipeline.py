"""From answers to stored verifications: each is verified while others are sampled, and stored as soon as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Self

from agnostics.evaluate.sources import Answered
from agnostics.store import CompletionRecord, Recorder
from agnostics.store.records import Phase
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

IN_FLIGHT_PER_SLOT = 64
"""Answers that are being verified, at most."""
_PATIENCE_S = 900.0
"""How long the verifier may take for one of them; its own limits are far below."""

Judged = Callable[[Verification], None]


class Judging:
    """Verifies answers and stores them. A context manager: leaving it waits for those under way.

    `judged` is told of each, on the verifier's thread. With `every_test` no test is skipped after one that fails.
    """

    def __init__(
        self,
        verifier: Verifier,
        language: Language,
        recorder: Recorder,
        judged: Judged,
        *,
        phase: Phase,
        every_test: bool,
    ) -> None:
        self._verifier, self._language, self._recorder, self._judged = verifier, language, recorder, judged
        self._phase, self._every_test = phase, every_test
        self._bound = IN_FLIGHT_PER_SLOT * verifier.slots
        self._room = threading.BoundedSemaphore(self._bound)
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        if kind is None:
            for _ in range(self._bound):
                self._take_room()

    def judge(self, answered: Answered, program: str | None) -> None:
        """Have `program`, which `answered` holds, verified and stored; waits while many are under way.

        Raises what went wrong with another.
        """
        self._take_room()
        future = self._verifier.submit(self._language, program, answered.task, stop_on_failure=not self._every_test)
        future.add_done_callback(partial(self._done, answered))

    def _take_room(self) -> None:
        if not self._room.acquire(timeout=_PATIENCE_S):
            raise AgnosticsError(
                f"the verifier has not answered for {_PATIENCE_S:.0f} s; run: agn doctor, then agn eval --resume last"
            )
        if self._failure:
            raise self._failure

    def _done(self, answered: Answered, future: Future[Verification]) -> None:
        try:
            verification = future.result()
            self._recorder.completion(_record(self._phase, answered, verification))
            self._judged(verification)
        except BaseException as error:
            self._failure = self._failure or error
        self._room.release()


def _record(phase: Phase, answered: Answered, verification: Verification) -> CompletionRecord:
    return CompletionRecord(
        step=0,
        phase=phase,
        task=answered.task,
        sample=answered.sample,
        text=answered.text,
        tokens=answered.tokens,
        finish_reason=answered.finish_reason,
        policy_version=0,
        verification=verification,
    )
