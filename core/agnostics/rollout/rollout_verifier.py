"""The verification of rollouts: from the text of an action to the verdict of its program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue

from agnostics.profiling.spans import SpanRecorder
from agnostics.types.code_extraction import strip_reasoning
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import Task
from agnostics.types.verification import Verification
from agnostics.verify import Verifier

VERDICT_TIMEOUT_S = 900.0
"""The longest time without any verdict while programs wait for one; the limits of the verifier are far below."""
_VERIFYING_PER_SLOT = 64


@dataclass(frozen=True, slots=True)
class RolloutVerifier:
    """Verifies the programs of rollouts in one language."""

    language: Language
    verifier: Verifier
    spans: SpanRecorder = field(default_factory=SpanRecorder)
    strips_reasoning: bool = False
    """Look for programs after the model's thoughts only."""

    @property
    def max_in_flight(self) -> int:
        """The most rollouts of a stream that are verified at the same time."""
        return _VERIFYING_PER_SLOT * self.verifier.slots

    def program_in(self, task: Task, text: str) -> str | None:
        """The program in the text of a completion for `task`, None if there is none."""
        return self.language.program_for(task, strip_reasoning(text) if self.strips_reasoning else text)

    def submit(self, program: str | None, task: Task, *, stop_on_failure: bool = True) -> Future[Verification]:
        """Verify a program on a task; blocks while the sandbox's queue is full."""
        span = self.spans.begin("verification", task.id)
        verification = self.verifier.submit(self.language, program, task, stop_on_failure=stop_on_failure)
        verification.add_done_callback(lambda _: self.spans.end(span))
        return verification

    def stream(
        self, programs: Iterable[tuple[Rollout, str | None]], *, stop_on_failure: bool = True
    ) -> Iterator[Rollout]:
        """Verify programs, each for its rollout; yields the rollouts as they are verified, in any order."""
        verified, pending = SimpleQueue[Future[Rollout]](), 0
        for rollout, program in programs:
            verification = self.submit(program, rollout.task, stop_on_failure=stop_on_failure)
            _with_verification(rollout, verification).add_done_callback(verified.put)
            pending += 1
            while pending >= self.max_in_flight or not verified.empty():
                pending -= 1
                yield _next(verified).result()
        for _ in range(pending):
            yield _next(verified).result()


def verification_timeout() -> AgnosticsError:
    """The error for a verifier that does not answer."""
    return AgnosticsError(
        f"the verifier has not answered for {VERDICT_TIMEOUT_S:.0f} s; run: agn doctor, then continue with --resume"
    )


def _with_verification(rollout: Rollout, verification: Future[Verification]) -> Future[Rollout]:
    """The rollout with a verification, once that is there."""
    verified = Future[Rollout]()

    def done(verification: Future[Verification]) -> None:
        try:
            verified.set_result(replace(rollout, verification=verification.result()))
        except Exception as error:
            verified.set_exception(error)

    verification.add_done_callback(done)
    return verified


def _next(verified: SimpleQueue[Future[Rollout]]) -> Future[Rollout]:
    try:
        return verified.get(timeout=VERDICT_TIMEOUT_S)
    except Empty:
        raise verification_timeout() from None
