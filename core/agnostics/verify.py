"""The verifier: (language, program, task) -> verification. The one door to the sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Self, TypeVar

from msgspec.structs import replace

from agnostics.sandbox.factory import open_pool
from agnostics.sandbox.job_codec import Judged, checker_job, compile_result, encoded, job_for, result_of
from agnostics.sandbox.protocol import Answer, Outcome
from agnostics.types.errors import unknown_name_error
from agnostics.types.language import Language
from agnostics.types.task import Checker, Task
from agnostics.types.verification import TestResult, Verdict, Verification, overall

T = TypeVar("T")

CHECKED_BYTES = 32 << 20
"""What a checker is given at a time: its folder is a RAM disk, and has to hold all of it."""


class Verifier:
    """Runs programs against tasks in a pool of warm slots. A context manager.

    `languages` are those that checkers are written in, by name. Raises UsageError or MissingRequirement where the mode
    does not exist or work here.
    """

    def __init__(
        self, sandbox: str = "auto", slots: int | None = None, languages: Mapping[str, Language] | None = None
    ) -> None:
        self._pool = open_pool(sandbox, slots)
        self._languages = languages or {}

    @property
    def mode(self) -> str:
        """The isolation mode in use."""
        return self._pool.mode

    @property
    def slots(self) -> int:
        """How many programs run at once, at most."""
        return self._pool.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End every slot. Safe to call twice."""
        self._pool.close()

    def verify(
        self, language: Language, program: str | None, task: Task, *, stop_on_failure: bool = True
    ) -> Verification:
        """The verification of one program; waits for it."""
        return self.submit(language, program, task, stop_on_failure=stop_on_failure).result()

    def submit(
        self, language: Language, program: str | None, task: Task, *, stop_on_failure: bool = True
    ) -> Future[Verification]:
        """Queue a program; waits only while the queue is full. None or a blank text is no program, and runs nothing.

        The future raises MissingRequirement where the language's toolchain is not here.
        """
        request = _Request(language, program, task, stop_on_failure, self.mode)
        checker = self._checker_of(task)
        if program is None or language.is_empty(program):
            request.conclude(Verdict.NO_PROGRAM, request.all_skipped())
        else:
            job = job_for(language, program, task, stop_on_failure=stop_on_failure)
            request.then(self._pool.submit(language, job), lambda answer: self._ran(request, checker, answer))
        return request.future

    def _checker_of(self, task: Task) -> tuple[Language, Checker] | None:
        checker = task.compare.checker
        if checker is None:
            return None
        if checker.language not in self._languages:
            raise unknown_name_error("language of a checker", checker.language, self._languages)
        return self._languages[checker.language], checker

    def _ran(self, request: _Request, checker: tuple[Language, Checker] | None, answer: Answer) -> None:
        request.answer = answer
        if answer.error is not None:
            request.conclude(Verdict.SANDBOX_ERROR)
        elif answer.compile and answer.compile.verdict is not Verdict.ACCEPTED:
            request.conclude(Verdict.COMPILE_ERROR, request.all_skipped())
        elif checker is None:
            request.conclude_by([_judged(request.task, result_of(outcome)) for outcome in answer.tests])
        else:
            self._check(request, *checker, {})

    def _check(self, request: _Request, language: Language, checker: Checker, judged: dict[int, Verdict]) -> None:
        """Let the checker judge the outputs, by their numbers, as many as it takes at a time; again until all are."""
        left = request.unjudged(judged)
        if not left:
            request.conclude_checked(judged)
            return
        job = checker_job(
            language, checker, [request.to_judge(number) for number in left], stop_on_failure=request.stop_on_failure
        )

        def go_on(answer: Answer) -> None:
            for place, number in enumerate(left):
                verdict, error = _decision(answer, place)
                request.error = request.error or error
                judged[number] = verdict
            self._check(request, language, checker, judged)

        request.then(self._pool.submit_now(language, job), go_on)


@dataclass(eq=False)
class _Request:
    """One program on its way to its verification."""

    language: Language
    program: str | None
    task: Task
    stop_on_failure: bool
    mode: str
    answer: Answer | None = None
    error: str | None = None
    started: float = field(default_factory=time.monotonic)
    future: Future[Verification] = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()

    def then(self, step: Future[T], act: Callable[[T], None]) -> None:
        """Go on with what `step` brings; what goes wrong is the request's outcome."""

        def go_on(done: Future[T]) -> None:
            try:
                act(done.result())
            except Exception as error:
                self.future.set_exception(error)

        step.add_done_callback(go_on)

    def all_skipped(self) -> list[TestResult]:
        return [TestResult(Verdict.SKIPPED)] * len(self.task.tests)

    def unjudged(self, judged: Mapping[int, Verdict]) -> list[int]:
        """The tests whose outputs a checker is to judge next: some that ended well, none where one failed already."""
        assert self.answer
        failed = any(verdict is not Verdict.ACCEPTED for verdict in judged.values())
        if failed and self.stop_on_failure:
            return []
        ended = [number for number, outcome in enumerate(self.answer.tests) if outcome.verdict is Verdict.ACCEPTED]
        left = [number for number in ended if number not in judged]
        sizes = accumulate(self.to_judge(number).size for number in left)
        return [number for number, size in zip(left, sizes, strict=True) if size <= CHECKED_BYTES] or left[:1]

    def to_judge(self, number: int) -> Judged:
        assert self.answer
        test = self.task.tests[number]
        return Judged(encoded(test.input), self.answer.tests[number].stdout, encoded(test.output))

    def conclude_checked(self, judged: Mapping[int, Verdict]) -> None:
        """Conclude with what a checker found of the tests that ended well."""
        assert self.answer
        results = list[TestResult]()
        for number, outcome in enumerate(self.answer.tests):
            verdict = judged.get(number, outcome.verdict)
            failed = any(result.verdict is not Verdict.ACCEPTED for result in results)
            skipped = self.stop_on_failure and failed
            results.append(TestResult(Verdict.SKIPPED) if skipped else replace(result_of(outcome), verdict=verdict))
        self.conclude_by(results)

    def conclude_by(self, results: list[TestResult]) -> None:
        self.conclude(overall(result.verdict for result in results), results)

    def conclude(self, verdict: Verdict, results: list[TestResult] | None = None) -> None:
        answer = self.answer or Answer(attempts=0)
        self.future.set_result(
            Verification(
                task_id=self.task.id,
                language=self.language.name,
                program=self.program,
                verdict=verdict,
                tests=tuple(results or ()),
                compile=compile_result(answer.compile) if answer.compile else None,
                sandbox=answer.sandbox or self.mode,
                attempts=answer.attempts,
                wall_ms=round((time.monotonic() - self.started) * 1000, 3),
                unenforced=answer.unenforced,
                error=answer.error or self.error,
            )
        )


def _judged(task: Task, result: TestResult) -> TestResult:
    """The result of a test, where what was printed beside the exit status counts as well."""
    prompt_format, ended_well = task.prompt_format, result.verdict is Verdict.ACCEPTED
    if prompt_format and ended_well and not prompt_format.passes(result.stdout, result.stderr):
        return replace(result, verdict=Verdict.WRONG_ANSWER)
    return result


def _decision(answer: Answer, place: int) -> tuple[Verdict, str | None]:
    """What a checker decided of the output at `place`: exit status 0 accepts and 1 rejects; all else is its fault."""
    outcome: Outcome | None = answer.tests[place] if answer.tests else answer.compile
    if outcome is None or answer.error is not None:
        return Verdict.SANDBOX_ERROR, f"the checker could not be run: {answer.error}"
    if outcome.verdict is Verdict.SKIPPED:
        return Verdict.SKIPPED, None
    if answer.tests and outcome.exit_code in {0, 1} and outcome.verdict in {Verdict.ACCEPTED, Verdict.RUNTIME_ERROR}:
        return (Verdict.WRONG_ANSWER if outcome.exit_code else Verdict.ACCEPTED), None
    said = (outcome.stderr or outcome.stdout).decode(errors="replace").strip()
    stage = "run" if answer.tests else "compilation"
    return (
        Verdict.SANDBOX_ERROR,
        f"the checker failed ({stage}: {outcome.verdict}, exit {outcome.exit_code}): {said:.200}",
    )
