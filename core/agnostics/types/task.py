"""Tasks: a statement, tests, the comparison of outputs, and limits."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


class Frozen(BaseModel):
    """An immutable model that rejects unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Frozen):
    """The resource limits of a program. Times are in seconds of its own: waiting for a processor is not counted."""

    compile_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    run_s: Annotated[float, Field(gt=0, le=3600)] = 5.0
    memory_mb: Annotated[int, Field(ge=16, le=1 << 20)] = 512
    output_bytes: Annotated[int, Field(gt=0, le=1 << 30)] = 5_000_000
    processes: Annotated[int, Field(ge=1, le=4096)] = 64


class LimitOverrides(Frozen):
    """Limits that a language or a task overrides; `None` keeps the underlying one."""

    compile_s: Annotated[float | None, Field(gt=0, le=3600)] = None
    run_s: Annotated[float | None, Field(gt=0, le=3600)] = None
    memory_mb: Annotated[int | None, Field(ge=16, le=1 << 20)] = None
    output_bytes: Annotated[int | None, Field(gt=0, le=1 << 30)] = None
    processes: Annotated[int | None, Field(ge=1, le=4096)] = None

    def over(self, base: Limits) -> Limits:
        """`base` with the limits that are set here."""
        return base.model_copy(update=self.model_dump(exclude_none=True))


class Test(Frozen):
    """An input and its expected output."""

    __test__ = False  # not a pytest class

    input: str
    output: str


FILE_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"
"""The pattern of a file name in a program's folder."""


class Checker(Frozen):
    """A program that checks outputs, run as `execute INPUT OUTPUT EXPECTED`; exit status 0 accepts, 1 rejects."""

    language: str
    program: str
    files: dict[Annotated[str, Field(pattern=FILE_NAME_PATTERN)], str] = {}
    """The contents of files beside the program, by name."""
    limits: LimitOverrides = LimitOverrides()


class Comparison(Frozen):
    """The comparison of an output with the expected one, on bytes.

    `tokens`: equal sequences of tokens, split on ASCII white space. `lines`: equal lines, without trailing white space
    and final blank lines. `exact`: equal bytes. `floats`: as `tokens`, but expected tokens that are floats match within
    `absolute` or `relative` tolerance. `checker`: another program decides. `nothing`: only the exit status decides.
    """

    mode: Literal["tokens", "lines", "exact", "floats", "checker", "nothing"] = "tokens"
    absolute: Annotated[float, Field(ge=0)] = 1e-6
    relative: Annotated[float, Field(ge=0)] = 1e-6
    checker: Checker | None = None

    @model_validator(mode="after")
    def _checker_is_given_where_needed(self) -> Self:
        if (self.mode == "checker") != (self.checker is not None):
            raise ValueError("compare.checker is required by mode 'checker' and by no other")
        return self


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression, matched anywhere in a text."""


class PromptFormat(Frozen):
    """The assembly of a program from a completion, for benchmarks with tests in the language itself.

    `tests` are code in `language` (a name or a tag of it) that is appended. With `stop`, the statement is the beginning
    of the program and the completion continues it, up to the first of these stop sequences; without, the program is the
    code block of the completion, after `before`. If the exit status does not show failed tests, the first 4,096 bytes
    of the program's output must match `stdout` and `stderr`.
    """

    language: str
    before: str = ""
    tests: str
    stop: tuple[str, ...] | None = None
    stdout: Pattern | None = None
    stderr: Pattern | None = None

    @property
    def ends(self) -> tuple[str, ...]:
        """The sequences at which sampling can stop early: all of `stop`, without those contained in another one.

        The longer one may begin earlier in the completion.
        """
        return tuple(text for text in self.stop or () if not any(text in other[1:] for other in self.stop or ()))

    def continued(self, statement: str, completion: str) -> str:
        """The program of `statement` and `completion`: `stop_at_stop_token` and `main.py` of MultiPL-E."""
        positions = [completion.find(stop) for stop in self.stop or ()]
        end = min((position for position in positions if position >= 0), default=len(completion))
        return f"{statement}{completion[:end]}\n{self.tests}"

    def enclosed(self, program: str) -> str:
        """The program with the code block `program`."""
        return f"{self.before}{program}\n{self.tests}"

    def passes(self, stdout: str, stderr: str) -> bool:
        """Whether a program with exit status 0 and this output has passed its tests."""
        rules = ((self.stdout, stdout), (self.stderr, stderr))
        return all(pattern is None or re.search(pattern, printed) for pattern, printed in rules)


class Task(Frozen):
    """A programming problem with the tests that decide whether a program solves it."""

    id: str
    statement: str = ""
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]
    compare: Comparison = Comparison()
    limits: LimitOverrides = LimitOverrides()
    prompt_format: PromptFormat | None = None
    """The assembly of the program, if the completion does not contain a whole one."""
    family: str | None = None
    """The family of tasks that this one belongs to: the group in tables, and the key of reference programs."""
    parameters: dict[str, int | str] = {}
    """The constants of this task within its family."""
    tags: tuple[str, ...] = ()
    difficulty: str | None = None
    metadata: dict[str, Any] = {}
