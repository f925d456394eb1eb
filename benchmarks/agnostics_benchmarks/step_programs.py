"""Small programs in Lua and in Python: a few steps on two digits, with a statement and what they print.

A program is two steps of different kinds. The set of its kinds is its family. A third of the families is held out as a
whole, and of the other families the programs whose statement has a checksum that is divisible by eight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from random import Random
from typing import Literal
from zlib import crc32

STEPS = 2
Digits = tuple[int, int]
Split = Literal["train", "known", "new"]
"""In training; held out, of a family in training; held out with its family."""


@dataclass(frozen=True)
class StepKind:
    """A kind of step. In its texts `@x@` and `@y@` are the variables, and `@k@` is a constant.

    `apply` gives the new values of x and y for x, y and k. `python` is the step in Python, if it is not as in Lua. A
    helper is a function that stands before the program.
    """

    name: str
    constants: range
    statement: str
    lua: str
    apply: Callable[[int, int, int], Digits]
    python: str | None = None
    lua_helper: str = ""
    python_helper: str = ""

    def text(self, language: str) -> str:
        """The step in `lua` or `python`."""
        return self.python if language == "python" and self.python else self.lua

    def helper(self, language: str) -> str:
        """The function that stands before the program, if there is one."""
        return self.python_helper if language == "python" else self.lua_helper


_NO_CONSTANT = range(1)
_READ = {"lua": 'local a, b = io.read("*n", "*n")', "python": "a, b = map(int, input().split())"}
_WRITE = {"lua": 'print(a .. " " .. b)', "python": "print(a, b)"}
KINDS = (
    StepKind("add", range(2, 10), "Add @k@ to @x@.", "@x@ = (@x@ + @k@) % 10", lambda x, y, k: ((x + k) % 10, y)),
    StepKind("join", _NO_CONSTANT, "Add @y@ to @x@.", "@x@ = (@x@ + @y@) % 10", lambda x, y, _: ((x + y) % 10, y)),
    StepKind("scale", range(2, 10), "Multiply @x@ by @k@.", "@x@ = @x@ * @k@ % 10", lambda x, y, k: (x * k % 10, y)),
    StepKind("swap", _NO_CONSTANT, "Swap @x@ and @y@.", "@x@, @y@ = @y@, @x@", lambda x, y, _: (y, x)),
    StepKind("copy", _NO_CONSTANT, "Set @x@ to @y@.", "@x@ = @y@", lambda _, y, __: (y, y)),
    StepKind(
        "limit",
        range(2, 8),
        "If @x@ is above @k@, set it to @k@.",
        "if @x@ > @k@ then\n  @x@ = @k@\nend",
        lambda x, y, k: (min(x, k), y),
        python="if @x@ > @k@:\n    @x@ = @k@",
    ),
    StepKind(
        "choose",
        range(2, 10),
        "If @x@ is below @y@, set @x@ to @k@, else set @y@ to @k@.",
        "if @x@ < @y@ then\n  @x@ = @k@\nelse\n  @y@ = @k@\nend",
        lambda x, y, k: (k, y) if x < y else (x, k),
        python="if @x@ < @y@:\n    @x@ = @k@\nelse:\n    @y@ = @k@",
    ),
    StepKind(
        "repeat",
        range(2, 5),
        "Do this @k@ times: add @y@ to @x@.",
        "for i = 1, @k@ do\n  @x@ = (@x@ + @y@) % 10\nend",
        lambda x, y, k: ((x + k * y) % 10, y),
        python="for i in range(@k@):\n    @x@ = (@x@ + @y@) % 10",
    ),
    StepKind(
        "lower",
        range(2, 5),
        "While @x@ is above @k@, take @k@ from it.",
        "while @x@ > @k@ do\n  @x@ = @x@ - @k@\nend",
        lambda x, y, k: ((x - 1) % k + 1 if x > k else x, y),
        python="while @x@ > @k@:\n    @x@ = @x@ - @k@",
    ),
    StepKind(
        "call",
        range(2, 10),
        "Set @x@ to f of it, where f adds @k@.",
        "@x@ = f(@x@)",
        lambda x, y, k: ((x + k) % 10, y),
        lua_helper="local function f(n)\n  return (n + @k@) % 10\nend\n\n",
        python_helper="def f(n):\n    return (n + @k@) % 10\n\n",
    ),
)
FAMILIES = tuple(" ".join(kind.name for kind in kinds) for kinds in combinations(KINDS, STEPS))
NEW_FAMILIES = frozenset(Random("held out").sample(FAMILIES, len(FAMILIES) // 3))


@dataclass(frozen=True)
class Step:
    """A step of a program: its kind, whether x is b in place of a, and its constant."""

    kind: StepKind
    is_b: bool
    k: int

    def fill(self, text: str) -> str:
        """A text of the kind, with the variables and the constant."""
        x, y = "ba" if self.is_b else "ab"
        return text.replace("@x@", x).replace("@y@", y).replace("@k@", str(self.k))

    def apply(self, a: int, b: int) -> Digits:
        """The values of a and b after the step."""
        if self.is_b:
            b, a = self.kind.apply(b, a, self.k)
            return a, b
        return self.kind.apply(a, b, self.k)


@dataclass(frozen=True)
class StepProgram:
    """A program of a few steps."""

    steps: tuple[Step, ...]

    @property
    def family(self) -> str:
        """The kinds of its steps, in the order of `KINDS`."""
        return " ".join(kind.name for kind in KINDS if kind in {step.kind for step in self.steps})

    @cached_property
    def statement(self) -> str:
        """What is to be programmed. Programs with the same statement are the same."""
        steps = " ".join(step.fill(step.kind.statement) for step in self.steps)
        return f"Read the digits a and b. {steps} Print a and b. Sums and products are modulo 10."

    @property
    def split(self) -> Split:
        """Where it belongs."""
        if self.family in NEW_FAMILIES:
            return "new"
        return "known" if crc32(self.statement.encode()) % 8 == 0 else "train"

    def text(self, language: str) -> str:
        """The program in `lua` or `python`."""
        helpers = [step.fill(step.kind.helper(language)) for step in self.steps]
        lines = [step.fill(step.kind.text(language)) for step in self.steps]
        return "".join(helpers) + "\n".join([_READ[language], *lines, _WRITE[language]]) + "\n"

    def output(self, given: str) -> str:
        """What it prints for an input."""
        a, b = map(int, given.split())
        for step in self.steps:
            a, b = step.apply(a, b)
        return f"{a} {b}\n"


def all_programs() -> Iterator[StepProgram]:
    """Every program."""
    choices = {kind: [Step(kind, is_b, k) for is_b in (False, True) for k in kind.constants] for kind in KINDS}
    for kinds in permutations(KINDS, STEPS):
        yield from map(StepProgram, product(*(choices[kind] for kind in kinds)))


def draw_program(rng: Random) -> StepProgram:
    """A program with kinds, order, variables and constants at random."""
    kinds = rng.sample(KINDS, STEPS)
    return StepProgram(tuple(Step(kind, rng.random() < 0.5, rng.choice(kind.constants)) for kind in kinds))


def draw_input(rng: Random) -> str:
    """Two digits on a line."""
    return f"{rng.randrange(10)} {rng.randrange(10)}\n"
