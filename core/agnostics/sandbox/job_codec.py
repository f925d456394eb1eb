"""From tasks to jobs for a harness, and from what it answers to results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from agnostics.sandbox.protocol import Job, Mode, Outcome
from agnostics.types.language import Language
from agnostics.types.task import Checker, Limits, Task
from agnostics.types.verification import CompileResult, TestResult, Verdict

KEEP_BYTES = 4096
"""How much of each output a result holds."""
COMPILE_MB = 512
"""What a compiler may use (MiB), where its program's own limit is not higher."""
_LOCALE = {"LANG": "C.UTF-8"}
_CHECK = 'read -r n; exec "$@" "input.$n" "output.$n" "expected.$n"'
"""A checker's run: standard input says which output it is to judge."""
_COMPILER_STOPPED = {
    Verdict.TIME_LIMIT: "the compiler was stopped at its time limit",
    Verdict.MEMORY_LIMIT: "the compiler was stopped at its memory limit",
    Verdict.OUTPUT_LIMIT: "the compiler was stopped because it said too much",
}


def encoded(text: str) -> bytes:
    """The bytes of a text. Surrogates that stand for bytes that are not UTF-8 become these again; others stay."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def job_for(language: Language, program: str, task: Task, *, stop_on_failure: bool) -> Job:
    """The job of running `program` against `task`. Where a checker decides, the outputs come back whole."""
    limits = language.limits_for(task)
    compare = task.compare
    checked = compare.checker is not None
    return _job(
        language,
        {**language.support_files(), language.filename: encoded(program)},
        limits,
        tests=[(encoded(test.input), b"" if checked else encoded(test.output)) for test in task.tests],
        compare=_mode(compare.mode),
        keep_bytes=max(KEEP_BYTES, limits.output_bytes) if checked else KEEP_BYTES,
        absolute=compare.absolute,
        relative=compare.relative,
        stop_on_failure=stop_on_failure,
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """What a checker is given of a test that a program ended well."""

    given: bytes
    output: bytes
    expected: bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.given) + len(self.output) + len(self.expected)


def checker_job(language: Language, checker: Checker, tests: Sequence[Judged], *, stop_on_failure: bool) -> Job:
    """The job of compiling a checker once and running it on each of `tests`: `execute INPUT OUTPUT EXPECTED`."""
    files = {**language.support_files(), **{name: encoded(text) for name, text in checker.files.items()}}
    files[language.filename] = encoded(checker.program)
    for number, test in enumerate(tests):
        parts = {"input": test.given, "output": test.output, "expected": test.expected}
        files |= {f"{name}.{number}": data for name, data in parts.items()}
    limits = language.with_startup(checker.limits.over(language.limits.over(Limits())))
    numbers = [(f"{number}\n".encode(), b"") for number in range(len(tests))]
    job = _job(language, files, limits, tests=numbers, compare="nothing", stop_on_failure=stop_on_failure)
    return replace(job, execute=["/bin/sh", "-c", _CHECK, "check", *job.execute])


def _job(
    language: Language,
    files: dict[str, bytes],
    limits: Limits,
    *,
    tests: list[tuple[bytes, bytes]],
    compare: Mode,
    keep_bytes: int = KEEP_BYTES,
    absolute: float = 0.0,
    relative: float = 0.0,
    stop_on_failure: bool = True,
) -> Job:
    return Job(
        files=files,
        compile=language.compile_argv(),
        execute=language.execute_argv(),
        environment={**_LOCALE, **language.environment},
        tests=tests,
        run_s=limits.run_s,
        compile_s=limits.compile_s,
        memory_mb=limits.memory_mb,
        compile_mb=max(COMPILE_MB, limits.memory_mb),
        processes=limits.processes,
        output_bytes=limits.output_bytes,
        keep_bytes=keep_bytes,
        compare=compare,
        absolute=absolute,
        relative=relative,
        stop_on_failure=stop_on_failure,
    )


def _mode(mode: str) -> Mode:
    return next((known for known in get_args(Mode) if known == mode), "nothing")


def result_of(outcome: Outcome) -> TestResult:
    """The result of one test."""
    stdout, stderr = outcome.stdout[:KEEP_BYTES], outcome.stderr[:KEEP_BYTES]
    return TestResult(
        verdict=outcome.verdict,
        wall_ms=outcome.wall_ms,
        cpu_ms=outcome.cpu_ms,
        peak_mb=outcome.peak_mb,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        truncated=outcome.truncated or len(stdout) < len(outcome.stdout),
        difference=outcome.difference,
    )


def compile_result(outcome: Outcome) -> CompileResult:
    """The result of compiling; a compiler that was stopped is said to have been."""
    log = outcome.stdout.decode(errors="replace")
    stopped = _COMPILER_STOPPED.get(outcome.verdict)
    return CompileResult(
        ok=outcome.verdict is Verdict.ACCEPTED,
        wall_ms=outcome.wall_ms,
        cpu_ms=outcome.cpu_ms,
        peak_mb=outcome.peak_mb,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        message=f"{stopped}\n{log}".rstrip("\n") if stopped else log,
        truncated=outcome.truncated,
    )
