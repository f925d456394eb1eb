"""Conversion of tasks to jobs for a harness, and of its results to test and compile results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from agnostics.sandbox.protocol import Job, Mode, RunResult
from agnostics.types.language import ForkServer, Language
from agnostics.types.task import Checker, Limits, Task
from agnostics.types.verification import CompileResult, TestResult, Verdict

KEEP_BYTES = 4096
"""The size to which a result cuts each output."""
COMPILE_MB = 512
"""The memory limit of compilers (MiB), unless their program's own limit is higher."""
ENVIRONMENT = {"LANG": "C.UTF-8"}
_RUN_CHECKER = 'read -r n; exec "$@" "input.$n" "output.$n" "expected.$n"'
"""The command of a checker; its standard input is the number of the test whose output it checks."""
_COMPILER_STOPPED = {
    Verdict.TIME_LIMIT: "the compiler was stopped at its time limit",
    Verdict.MEMORY_LIMIT: "the compiler was stopped at its memory limit",
    Verdict.OUTPUT_LIMIT: "the compiler was stopped at its output limit",
}


def to_bytes(text: str) -> bytes:
    """The bytes of a text. Surrogates that stand for bytes outside UTF-8 become these bytes again; others stay."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def job_for(language: Language, program: str, task: Task, *, stop_on_failure: bool) -> Job:
    """The job that runs `program` against `task`. If the task has a checker, the outputs are returned whole."""
    limits = language.limits_for(task)
    compare = task.compare
    has_checker = compare.checker is not None
    job = _build_job(
        language,
        {**language.support_files(), language.filename: to_bytes(program)},
        limits,
        tests=[(to_bytes(test.input), b"" if has_checker else to_bytes(test.output)) for test in task.tests],
        compare=_compare_mode(compare.mode),
        keep_bytes=max(KEEP_BYTES, limits.output_bytes) if has_checker else KEEP_BYTES,
        absolute=compare.absolute,
        relative=compare.relative,
        stop_on_failure=stop_on_failure,
    )
    return _forked(language, language.fork_server, job) if language.fork_server else job


def _forked(language: Language, fork_server: ForkServer, job: Job) -> Job:
    """`job` with the interpreter that is held until it uses the program, and forked for each test."""
    files = {name: to_bytes(text) for name, text in fork_server.files.items()}
    return replace(job, hold_at=language.filename, hold_execute=language.fork_server_argv(), hold_files=files)


@dataclass(frozen=True, slots=True)
class CheckerInput:
    """The files that a checker reads for one test: its input, the program's output and the expected output."""

    input: bytes
    output: bytes
    expected: bytes

    @property
    def size(self) -> int:
        """The size of all three in bytes."""
        return len(self.input) + len(self.output) + len(self.expected)


def checker_job(language: Language, checker: Checker, tests: Sequence[CheckerInput], *, stop_on_failure: bool) -> Job:
    """The job that compiles a checker once and runs it on each of `tests`: `execute INPUT OUTPUT EXPECTED`."""
    files = {**language.support_files(), **{name: to_bytes(text) for name, text in checker.files.items()}}
    files[language.filename] = to_bytes(checker.program)
    for number, test in enumerate(tests):
        parts = {"input": test.input, "output": test.output, "expected": test.expected}
        files |= {f"{name}.{number}": data for name, data in parts.items()}
    limits = language.with_startup(checker.limits.over(language.limits.over(Limits())))
    numbers = [(f"{number}\n".encode(), b"") for number in range(len(tests))]
    job = _build_job(language, files, limits, tests=numbers, compare="nothing", stop_on_failure=stop_on_failure)
    return replace(job, execute=["/bin/sh", "-c", _RUN_CHECKER, "check", *job.execute])


def _build_job(
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
        environment={**ENVIRONMENT, **language.environment},
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


def _compare_mode(mode: str) -> Mode:
    return next((known for known in get_args(Mode) if known == mode), "nothing")


def test_result(run: RunResult) -> TestResult:
    """The result of one test from that of its run."""
    stdout, stderr = run.stdout[:KEEP_BYTES], run.stderr[:KEEP_BYTES]
    return TestResult(
        verdict=run.verdict,
        wall_ms=run.wall_ms,
        cpu_ms=run.cpu_ms,
        peak_mb=run.peak_mb,
        exit_code=run.exit_code,
        signal=run.signal,
        stdout=stdout.decode(errors="replace"),
        stderr=stderr.decode(errors="replace"),
        truncated=run.truncated or len(stdout) < len(run.stdout),
        difference=run.difference,
    )


def compile_result(run: RunResult) -> CompileResult:
    """The result of compiling; its message names the limit at which the compiler was stopped, if it was."""
    output = run.stdout[:KEEP_BYTES]
    log = output.decode(errors="replace")
    stopped = _COMPILER_STOPPED.get(run.verdict)
    return CompileResult(
        ok=run.verdict is Verdict.ACCEPTED,
        wall_ms=run.wall_ms,
        cpu_ms=run.cpu_ms,
        peak_mb=run.peak_mb,
        exit_code=run.exit_code,
        signal=run.signal,
        message=f"{stopped}\n{log}".rstrip("\n") if stopped else log,
        truncated=run.truncated or len(output) < len(run.stdout),
    )
