"""What a program is asked to do: a statement, its tests, how outputs are compared, and the limits."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


class Frozen(BaseModel):
    """Immutable data that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(Frozen):
    """What one program may use. Times are in seconds of its own time: waiting for a processor is not counted."""

    compile_s: Annotated[float, Field(gt=0, le=3600)] = 30.0
    run_s: Annotated[float, Field(gt=0, le=3600)] = 5.0
    memory_mb: Annotated[int, Field(ge=16, le=1 << 20)] = 512
    output_bytes: Annotated[int, Field(gt=0, le=1 << 30)] = 5_000_000
    processes: Annotated[int, Field(ge=1, le=4096)] = 64


class LimitOverrides(Frozen):
    """The limits that a language or a task sets; `None` leaves the one below in force."""

    compile_s: Annotated[float | None, Field(gt=0, le=3600)] = None
    run_s: Annotated[float | None, Field(gt=0, le=3600)] = None
    memory_mb: Annotated[int | None, Field(ge=16, le=1 << 20)] = None
    output_bytes: Annotated[int | None, Field(gt=0, le=1 << 30)] = None
    processes: Annotated[int | None, Field(ge=1, le=4096)] = None

    def over(self, base: Limits) -> Limits:
        """`base` with every limit that is set here replaced."""
        return base.model_copy(update=self.model_dump(exclude_none=True))


class Test(Frozen):
    """One input and the output expected for it."""

    __test__ = False  # not a pytest class

    input: str
    output: str


FILE_NAME_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"
"""What a file in a program's folder may be called."""


class Checker(Frozen):
    """A program that judges outputs: run as `execute INPUT OUTPUT EXPECTED`; exit status 0 accepts, 1 rejects."""

    language: str
    program: str
    files: dict[Annotated[str, Field(pattern=FILE_NAME_PATTERN)], str] = {}
    """Texts by the names of the files that lie beside the program."""
    limits: LimitOverrides = LimitOverrides()


class Comparison(Frozen):
    """How an output is held against the expected one, on bytes.

    `tokens`: split on ASCII white space, equal one by one, none left over. `lines`: trailing white space and final
    blank lines are ignored. `exact`: every byte. `floats`: as `tokens`, but where the expected token is a float, within
    `absolute` or `relative` tolerance. `checker`: another program decides. `nothing`: the exit status alone decides.
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
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, AfterValidator(_compiles)]
"""A regular expression, which is searched for."""


class PromptFormat(Frozen):
    """How a benchmark whose tests are written in the language itself makes a program of a completion.

    `tests` follow what the model wrote, and are in `language`: a name of it or one of its tags. With `stop`, the
    statement begins the program and the completion goes on from it, up to the first of these texts; without, the
    model's part is a code block of its answer, as elsewhere, and stands after `before`. Where the exit status does not
    tell failed tests, `stdout` and `stderr` are what has to be found in the first 4,096 bytes that a program printed.
    """

    language: str
    before: str = ""
    tests: str
    stop: tuple[str, ...] | None = None
    stdout: Pattern | None = None
    stderr: Pattern | None = None

    @property
    def ends(self) -> tuple[str, ...]:
        """The texts at which sampling may end, with nothing lost: all of `stop`, but for those inside another, which
        may begin before them."""
        return tuple(text for text in self.stop or () if not any(text in other[1:] for other in self.stop or ()))

    def continued(self, statement: str, completion: str) -> str:
        """The program that `completion` makes of `statement`: `stop_at_stop_token` and `main.py` of MultiPL-E."""
        found = [completion.find(stop) for stop in self.stop or ()]
        end = min((place for place in found if place >= 0), default=len(completion))
        return f"{statement}{completion[:end]}\n{self.tests}"

    def enclosed(self, program: str) -> str:
        """The program that the code block `program` makes."""
        return f"{self.before}{program}\n{self.tests}"

    def passes(self, stdout: str, stderr: str) -> bool:
        """Whether a program that ended with exit status 0 and printed this has passed its tests."""
        rules = ((self.stdout, stdout), (self.stderr, stderr))
        return all(pattern is None or re.search(pattern, printed) for pattern, printed in rules)


class Task(Frozen):
    """A problem: what a program should do, and the examples that decide whether it does."""

    id: str
    statement: str = ""
    tests: Annotated[tuple[Test, ...], Field(min_length=1)]
    compare: Comparison = Comparison()
    limits: LimitOverrides = LimitOverrides()
    prompt_format: PromptFormat | None = None
    """How a completion becomes a program, where it is not the whole of one."""
    kind: str | None = None
    """The family that the task belongs to, for tables and for reference programs."""
    parameters: dict[str, int | str] = {}
    """The constants of this task within its kind."""
    tags: tuple[str, ...] = ()
    difficulty: str | None = None
    metadata: dict[str, Any] = {}
