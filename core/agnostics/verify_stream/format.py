"""The lines that `agn verify` reads and writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Annotated, Any, Self

from msgspec.structs import asdict
from pydantic import Field, ValidationError, model_validator

from agnostics.sandbox.protocol import MAX_FRAME
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import Language
from agnostics.types.task import Comparison, Frozen, LimitOverrides, Task, Test
from agnostics.types.verification import CompileResult, TestResult, Verification

MAX_LINE_BYTES = 2 * MAX_FRAME
"""The longest line that is read: JSON takes up to twice the bytes of the texts in it, or so."""
_PART = 1 << 20


class VerifyRequest(Frozen):
    """One line of input: a program, or the completion that holds it, and the tests."""

    id: Any = None
    language: str
    program: str | None = None
    completion: str | None = None
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]
    compare: Comparison = Comparison()
    limits: LimitOverrides = LimitOverrides()
    stop_on_failure: bool = False

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if len({"program", "completion"} & self.model_fields_set) != 1:
            raise ValueError("give either `program` or `completion`")
        return self

    def program_in(self, language: Language) -> str | None:
        """The program as given, or extracted from the completion."""
        return self.program if self.completion is None else language.program_in(self.completion)

    def task(self) -> Task:
        """The tests, as a task."""
        return Task(id="", tests=self.tests, compare=self.compare, limits=self.limits)


@dataclass(frozen=True)
class Malformed:
    """A line that is no request: its id, if it has one, and the error."""

    id: Any
    error: str


def read_requests(file: IO[bytes]) -> Iterator[tuple[VerifyRequest | Malformed, int]]:
    """The requests on the lines of `file`, blank ones left out, each with its size in bytes.

    Raises UsageError if the file cannot be read further.
    """
    while line := _read_line(file):
        size = len(line)
        if size > MAX_LINE_BYTES:
            yield too_long(MAX_LINE_BYTES), 0
        elif line.strip():
            request = parse(line)
            del line  # which is as large as the request
            yield request, size


def _read_line(file: IO[bytes]) -> bytes:
    """The next line; of one that is too long the beginning, and the rest is skipped."""
    try:
        line = rest = file.readline(MAX_LINE_BYTES + 1)
        while len(line) > MAX_LINE_BYTES and rest and not rest.endswith(b"\n"):
            rest = file.readline(_PART)
    except OSError as error:
        raise UsageError(f"{file.name}: cannot be read: {error.strerror or error}") from error
    return line


def too_long(max_bytes: int) -> Malformed:
    """The error of a line of more than `max_bytes`."""
    return Malformed(None, f"the line is longer than {max_bytes} bytes")


def parse(line: bytes, max_tests: float = float("inf")) -> VerifyRequest | Malformed:
    """The request on a line, or the reason why it is none; one with more than `max_tests` is none."""
    try:
        data = json.loads(line)
    except ValueError as error:
        return Malformed(None, f"not JSON: {error}")
    except RecursionError:
        return Malformed(None, "not JSON: it is nested too deeply")
    if not isinstance(data, dict):
        return Malformed(None, "expected a JSON object")
    if problem := _id_problem(data.get("id")):
        return Malformed(None, f"id: {problem}")
    tests = data.get("tests")
    if isinstance(tests, list) and len(tests) > max_tests:
        return Malformed(data.get("id"), f"tests: there are more than {max_tests}")
    try:
        return VerifyRequest.model_validate(data)
    except ValidationError as error:
        return Malformed(data.get("id"), _error_text(error))


def _id_problem(request_id: Any) -> str | None:
    """The reason why no reply with this id can be written as JSON, if there is one."""
    try:
        json.dumps(malformed_line(Malformed(request_id, "")), allow_nan=False)
    except ValueError:
        return "NaN and infinite numbers are no JSON values"
    except RecursionError:
        return "it is nested too deeply"
    return None


def encode_line(line: dict[str, Any]) -> str:
    """A reply as it is written, with its line feed. Raises ValueError for what JSON cannot hold."""
    return json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n"


def malformed_line(malformed: Malformed) -> dict[str, Any]:
    """The reply to a line that is no request."""
    return {"id": malformed.id, "error": malformed.error}


def verified_line(request_id: Any, verification: Verification) -> dict[str, Any]:
    """The reply to a request."""
    line: dict[str, Any] = {
        "id": request_id,
        "verdict": verification.verdict,
        "tests": [_test(test) for test in verification.tests],
        "compile": _compile(verification.compile) if verification.compile else None,
        "language": verification.language,
        "sandbox": verification.sandbox,
        "attempts": verification.attempts,
        "wall_ms": verification.wall_ms,
    }
    if verification.unenforced:
        line["unenforced"] = verification.unenforced
    if verification.error is not None:
        line["error"] = verification.error
    return line


def _test(test: TestResult) -> dict[str, Any]:
    difference = test.difference
    line: dict[str, Any] = {
        "verdict": test.verdict,
        "wall_ms": test.wall_ms,
        "cpu_ms": test.cpu_ms,
        "peak_mb": test.peak_mb,
        "exit_code": test.exit_code,
        "signal": test.signal,
        "stdout": test.stdout,
        "stderr": test.stderr,
        "difference": difference and asdict(difference),
    }
    return {**line, "truncated": True} if test.truncated else line


def _compile(result: CompileResult) -> dict[str, Any]:
    line: dict[str, Any] = {
        "ok": result.ok,
        "wall_ms": result.wall_ms,
        "cpu_ms": result.cpu_ms,
        "peak_mb": result.peak_mb,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "message": result.message,
    }
    return {**line, "truncated": True} if result.truncated else line


def _error_text(error: ValidationError) -> str:
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        return f"the key {path!r} is missing"
    if first["type"] == "extra_forbidden":
        return str(_unknown_key(path))
    return f"{path}: {first['msg']}" if path else first["msg"].removeprefix("Value error, ")


def _unknown_key(path: str) -> UsageError:
    models: dict[str, type[Frozen]] = {"limits": LimitOverrides, "compare": Comparison, "tests": Test}
    head, _, _ = path.partition(".")
    model = models.get(head, VerifyRequest) if "." in path else VerifyRequest
    return unknown_name_error("key", path.rpartition(".")[2], model.model_fields)
