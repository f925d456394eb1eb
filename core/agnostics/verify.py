"""The verifier: (language, program, task) -> verification. Everything else uses the sandbox through it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Self, TypeVar

from msgspec.structs import replace

from agnostics.sandbox.factory import open_pool
from agnostics.sandbox.job_codec import CheckerInput, checker_job, compile_result, job_for, test_result, to_bytes
from agnostics.sandbox.modes import Backends
from agnostics.sandbox.protocol import JobResult, RunResult
from agnostics.types.errors import unknown_name_error
from agnostics.types.language import Language
from agnostics.types.task import Checker, Task
from agnostics.types.verification import TestResult, Verdict, Verification, overall

T = TypeVar("T")

CHECKER_BATCH_BYTES = 32 << 20
"""The most that one job of a checker reads: its folder is a RAM disk, which must hold all of it."""


class Verifier:
    """Runs programs against tasks in a pool of warm slots. A context manager.

    `sandbox` is `auto`, the name of a backend, or `ray://ADDRESS[/NAME]`; `languages` are those of checkers, by name;
    `backends` are the sandbox backends by name, the built-in ones by default. Raises UsageError for an unknown sandbox
    and MissingRequirement for one that does not work here.
    """

    def __init__(
        self,
        sandbox: str = "auto",
        slots: int | None = None,
        languages: Mapping[str, Language] | None = None,
        backends: Backends | None = None,
    ) -> None:
        self._pool = open_pool(sandbox, slots, backends)
        self._languages = languages or {}

    @property
    def mode(self) -> str:
        """The name of the sandbox backend in use."""
        return self._pool.mode

    @property
    def slots(self) -> int:
        """The number of programs that run at once."""
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
        """Verify one program, and wait for the verification."""
        return self.submit(language, program, task, stop_on_failure=stop_on_failure).result()

    def submit(
        self, language: Language, program: str | None, task: Task, *, stop_on_failure: bool = True
    ) -> Future[Verification]:
        """Queue a program; blocks only while the queue is full. None or a blank text is no program and does not run.

        The future raises MissingRequirement if the language's toolchain is not here.
        """
        request = _Request(language, program, task, stop_on_failure, self.mode)
        checker = self._checker_of(task)
        if program is None or language.is_empty(program):
            request.finish(Verdict.NO_PROGRAM, request.skipped_tests())
        else:
            job = job_for(language, program, task, stop_on_failure=stop_on_failure)
            result = self._pool.submit(language, job)
            request.when_done(result, lambda result: self._program_done(request, checker, result))
        return request.future

    def _checker_of(self, task: Task) -> tuple[Language, Checker] | None:
        checker = task.compare.checker
        if checker is None:
            return None
        if checker.language not in self._languages:
            raise unknown_name_error("language of a checker", checker.language, self._languages)
        return self._languages[checker.language], checker

    def _program_done(self, request: _Request, checker: tuple[Language, Checker] | None, result: JobResult) -> None:
        request.result = result
        if result.error is not None:
            request.finish(Verdict.SANDBOX_ERROR)
        elif result.compile and result.compile.verdict is not Verdict.ACCEPTED:
            request.finish(Verdict.COMPILE_ERROR, request.skipped_tests())
        elif checker is None:
            request.finish_with([_check_prompt_format(request.task, test_result(run)) for run in result.tests])
        else:
            self._run_checker(request, *checker, {})

    def _run_checker(
        self, request: _Request, language: Language, checker: Checker, verdicts: dict[int, Verdict]
    ) -> None:
        """Run the checker on the next batch of outputs, and again until all have a verdict (by test number)."""
        batch = request.next_checker_batch(verdicts)
        if not batch:
            request.finish_checked(verdicts)
            return
        inputs = [request.checker_input(number) for number in batch]
        job = checker_job(language, checker, inputs, stop_on_failure=request.stop_on_failure)

        def checker_done(result: JobResult) -> None:
            for position, number in enumerate(batch):
                verdicts[number], error = _checker_verdict(result, position)
                request.error = request.error or error
            self._run_checker(request, language, checker, verdicts)

        request.when_done(self._pool.submit_now(language, job), checker_done)


@dataclass(eq=False)
class _Request:
    """One program from its submission to its verification."""

    language: Language
    program: str | None
    task: Task
    stop_on_failure: bool
    mode: str
    result: JobResult | None = None
    error: str | None = None
    started: float = field(default_factory=time.monotonic)
    future: Future[Verification] = field(default_factory=Future)

    def __post_init__(self) -> None:
        self.future.set_running_or_notify_cancel()

    def when_done(self, step: Future[T], callback: Callable[[T], None]) -> None:
        """Call `callback` with the result of `step`; an exception of either becomes that of the request."""

        def done(finished: Future[T]) -> None:
            try:
                callback(finished.result())
            except Exception as error:
                self.future.set_exception(error)

        step.add_done_callback(done)

    def skipped_tests(self) -> list[TestResult]:
        return [TestResult(Verdict.SKIPPED)] * len(self.task.tests)

    def next_checker_batch(self, verdicts: Mapping[int, Verdict]) -> list[int]:
        """The numbers of the next tests for the checker, among those whose run succeeded; none after a failure."""
        assert self.result
        failed = any(verdict is not Verdict.ACCEPTED for verdict in verdicts.values())
        if failed and self.stop_on_failure:
            return []
        succeeded = [number for number, run in enumerate(self.result.tests) if run.verdict is Verdict.ACCEPTED]
        unchecked = [number for number in succeeded if number not in verdicts]
        sizes = accumulate(self.checker_input(number).size for number in unchecked)
        fitting = [number for number, size in zip(unchecked, sizes, strict=True) if size <= CHECKER_BATCH_BYTES]
        return fitting or unchecked[:1]

    def checker_input(self, number: int) -> CheckerInput:
        assert self.result
        test = self.task.tests[number]
        return CheckerInput(to_bytes(test.input), self.result.tests[number].stdout, to_bytes(test.output))

    def finish_checked(self, verdicts: Mapping[int, Verdict]) -> None:
        """Finish with the checker's verdicts on the tests whose run succeeded, by test number."""
        assert self.result
        results = list[TestResult]()
        for number, run in enumerate(self.result.tests):
            verdict = verdicts.get(number, run.verdict)
            failed = any(result.verdict is not Verdict.ACCEPTED for result in results)
            skipped = self.stop_on_failure and failed
            results.append(TestResult(Verdict.SKIPPED) if skipped else replace(test_result(run), verdict=verdict))
        self.finish_with(results)

    def finish_with(self, results: list[TestResult]) -> None:
        """Finish with the overall verdict of the tests."""
        self.finish(overall(result.verdict for result in results), results)

    def finish(self, verdict: Verdict, results: list[TestResult] | None = None) -> None:
        """Set the verification."""
        result = self.result or JobResult(attempts=0)
        self.future.set_result(
            Verification(
                task_id=self.task.id,
                language=self.language.name,
                program=self.program,
                verdict=verdict,
                tests=tuple(results or ()),
                compile=compile_result(result.compile) if result.compile else None,
                sandbox=result.sandbox or self.mode,
                attempts=result.attempts,
                wall_ms=round((time.monotonic() - self.started) * 1000, 3),
                unenforced=result.unenforced,
                error=result.error or self.error,
            )
        )


def _check_prompt_format(task: Task, result: TestResult) -> TestResult:
    """The result of a test; a prompt format may reject the outputs of a run that succeeded."""
    prompt_format, succeeded = task.prompt_format, result.verdict is Verdict.ACCEPTED
    if prompt_format and succeeded and not prompt_format.passes(result.stdout, result.stderr):
        return replace(result, verdict=Verdict.WRONG_ANSWER)
    return result


def _checker_verdict(result: JobResult, position: int) -> tuple[Verdict, str | None]:
    """The verdict on the output at `position`, or the error of the checker.

    Exit status 0 accepts and 1 rejects; anything else is an error.
    """
    run: RunResult | None = result.tests[position] if result.tests else result.compile
    if run is None or result.error is not None:
        return Verdict.SANDBOX_ERROR, f"the checker could not be run: {result.error}"
    if run.verdict is Verdict.SKIPPED:
        return Verdict.SKIPPED, None
    if result.tests and run.exit_code in {0, 1} and run.verdict in {Verdict.ACCEPTED, Verdict.RUNTIME_ERROR}:
        return (Verdict.WRONG_ANSWER if run.exit_code else Verdict.ACCEPTED), None
    output = (run.stderr or run.stdout).decode(errors="replace").strip()
    stage = "run" if result.tests else "compilation"
    error = f"the checker failed ({stage}: {run.verdict}, exit {run.exit_code}): {output:.200}"
    return Verdict.SANDBOX_ERROR, error
