"""The verification of one program against one task.

The classes are msgspec structs, because thousands a second may travel to the process that stores them: they are packed
as arrays, without field names. `msgspec.structs.replace` makes a changed copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct


class Verdict(StrEnum):
    """The verdict on a program; members are in order of precedence."""

    SANDBOX_ERROR = "sandbox_error"
    NO_PROGRAM = "no_program"
    COMPILE_ERROR = "compile_error"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    TIME_LIMIT = "time_limit"
    RUNTIME_ERROR = "runtime_error"
    WRONG_ANSWER = "wrong_answer"
    ACCEPTED = "accepted"
    SKIPPED = "skipped"


PRECEDENCE = {verdict: rank for rank, verdict in enumerate(Verdict)}


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on a program from those of its tests: the first in order of precedence.

    Raises ValueError if there are none: a task without tests is an error, never a pass.
    """
    return min(verdicts, key=PRECEDENCE.__getitem__)


class Difference(Struct, frozen=True, array_like=True, gc=False):
    """The first difference from the expected output: its token (or line) index, byte offset, and both texts."""

    index: int
    offset: int
    expected: str
    actual: str


class TestResult(Struct, frozen=True, array_like=True, gc=False):
    """The result of one test. Times in milliseconds, memory in MiB; outputs are cut for storage (`truncated`)."""

    __test__ = False  # not a pytest class

    verdict: Verdict
    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_mb: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    truncated: bool = False
    difference: Difference | None = None


class CompileResult(Struct, frozen=True, array_like=True, gc=False):
    """The result of compiling. `message` is the compiler's output, cut for storage (`truncated`)."""

    ok: bool
    wall_ms: float
    cpu_ms: float
    peak_mb: float
    exit_code: int | None
    signal: int | None
    message: str
    truncated: bool = False


class Verification(Struct, frozen=True, array_like=True, gc=False):
    """The verification of one program against one task. `program` is None if the completion contained none."""

    task_id: str
    language: str
    program: str | None
    verdict: Verdict
    tests: tuple[TestResult, ...]
    compile: CompileResult | None
    sandbox: str
    attempts: int
    wall_ms: float
    unenforced: tuple[str, ...] = ()
    """The limits that this sandbox could not enforce on this machine."""
    error: str | None = None
    """The reason of the failure if the verdict is `sandbox_error`."""
    metrics: Mapping[str, float] = {}
    """What an environment measures of the completion beside the verdict, by name."""

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED
