"""Parts for Befunge-98: a grid to lay programs out, and a simulator of the instructions of the reference card."""

from __future__ import annotations

import re
from collections.abc import Callable


class Grid:
    """A program in two dimensions."""

    def __init__(self) -> None:
        self.cells: dict[tuple[int, int], str] = {}

    def right(self, x: int, y: int, text: str) -> None:
        """Place instructions from (x, y) to the right."""
        for number, one in enumerate(text):
            self._place(x + number, y, one)

    def down(self, x: int, y: int, text: str) -> None:
        """Place instructions from (x, y) downwards."""
        for number, one in enumerate(text):
            self._place(x, y + number, one)

    def _place(self, x: int, y: int, one: str) -> None:
        known = self.cells.setdefault((x, y), one)
        if known != one:
            raise ValueError(f"({x}, {y}) holds {known!r}; it cannot hold {one!r}")

    def __str__(self) -> str:
        width, height = (max(place[axis] for place in self.cells) + 1 for axis in (0, 1))
        rows = ("".join(self.cells.get((x, y), " ") for x in range(width)) for y in range(height))
        return "\n".join(row.rstrip() for row in rows) + "\n"


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: abs(a) // abs(b) * (1 if a * b >= 0 else -1),
    "%": lambda a, b: a % b,
    "`": lambda a, b: int(a > b),
}
DIRECTIONS = {">": (1, 0), "<": (-1, 0), "^": (0, -1), "v": (0, 1)}


class Simulator:
    """A program while it runs. Its space is a torus of its own size, whose cells keep a byte.

    `?`, `s` and what the reference card does not name are not known.
    """

    def __init__(self, program: str, stdin: str) -> None:
        rows = program.split("\n")
        self.width, self.height = max(map(len, rows)), len(rows)
        self.cells = {(x, y): ord(one) for y, row in enumerate(rows) for x, one in enumerate(row)}
        self.stack: list[int] = []
        self.x, self.y, self.dx, self.dy = 0, 0, 1, 0
        self.stdin, self.output = stdin, ""
        self.is_text = self.is_comment = self.ended = False

    def step(self) -> None:
        """Carry out the instruction here, and move on."""
        value = self.cells.get((self.x, self.y), 32)
        one = chr(value)
        if one == '"' and not self.is_comment:
            self.is_text = not self.is_text
        elif self.is_text:
            self.stack.append(value)
        elif one == ";":
            self.is_comment = not self.is_comment
        elif not self.is_comment:
            self.execute(one)
        self.move(1)

    def move(self, count: int) -> None:
        """Move by steps, around the edges."""
        self.x = (self.x + count * self.dx) % self.width
        self.y = (self.y + count * self.dy) % self.height

    def pop(self) -> int:
        """The top of the stack."""
        return self.stack.pop()

    def execute(self, one: str) -> None:
        """Carry out an instruction."""
        if one in "0123456789abcdef":
            self.stack.append(int(one, 16))
        elif one in ARITHMETIC:
            b, a = self.pop(), self.pop()
            self.stack.append(ARITHMETIC[one](a, b))
        elif one in DIRECTIONS:
            self.dx, self.dy = DIRECTIONS[one]
        elif one != " ":
            self.others[one](self)

    def turn(self, sign: int) -> None:
        """Turn left (1) or right (-1)."""
        self.dx, self.dy = sign * self.dy, -sign * self.dx

    def reverse(self) -> None:
        """Turn round."""
        self.dx, self.dy = -self.dx, -self.dy

    def swap(self) -> None:
        """Exchange the two values on the top."""
        b, a = self.pop(), self.pop()
        self.stack += [b, a]

    def get(self) -> None:
        """Push the cell at the place on the stack."""
        y, x = self.pop(), self.pop()
        self.stack.append(self.cells.get((x % self.width, y % self.height), 32))

    def put(self) -> None:
        """Store a value in the cell at the place on the stack."""
        y, x, value = self.pop(), self.pop(), self.pop()
        self.cells[x % self.width, y % self.height] = value % 256

    def branch(self, zero: str, other: str) -> None:
        """Go one way if the top is 0, else the other."""
        self.dx, self.dy = DIRECTIONS[other if self.pop() else zero]

    def read_number(self) -> None:
        """Push the number that the input goes on with, or 0."""
        found = re.match(r"\s*([+-]?\d+)", self.stdin)
        self.stack.append(int(found[1]) if found else 0)
        self.stdin = self.stdin[found.end() if found else 0 :]

    def read_char(self) -> None:
        """Push the next character of the input, or -1."""
        self.stack.append(ord(self.stdin[0]) if self.stdin else -1)
        self.stdin = self.stdin[1:]

    def write(self, text: str) -> None:
        """Print a text."""
        self.output += text

    def end(self) -> None:
        """End the program."""
        self.ended = True

    def fetch(self) -> None:
        """Push the next cell, and skip it."""
        self.move(1)
        self.stack.append(self.cells.get((self.x, self.y), 32))

    others: dict[str, Callable[[Simulator], object]] = {  # noqa: RUF012  (it is never changed)
        "!": lambda self: self.stack.append(int(not self.pop())),
        ":": lambda self: self.stack.append(self.stack[-1] if self.stack else 0),
        "\\": lambda self: self.swap(),
        "$": lambda self: self.pop(),
        "n": lambda self: self.stack.clear(),
        "[": lambda self: self.turn(1),
        "]": lambda self: self.turn(-1),
        "r": lambda self: self.reverse(),
        "#": lambda self: self.move(1),
        "j": lambda self: self.move(self.pop()),
        "_": lambda self: self.branch(">", "<"),
        "|": lambda self: self.branch("v", "^"),
        ".": lambda self: self.write(f"{self.pop()} "),
        ",": lambda self: self.write(chr(self.pop())),
        "&": lambda self: self.read_number(),
        "~": lambda self: self.read_char(),
        "g": lambda self: self.get(),
        "p": lambda self: self.put(),
        "'": lambda self: self.fetch(),
        "@": lambda self: self.end(),
        "q": lambda self: self.end(),
    }


def simulate(program: str, stdin: str = "", *, steps: int = 1_000_000, trace: bool = False) -> str:
    """What a program prints.

    Raises KeyError for an unknown instruction, IndexError if the stack is empty, ZeroDivisionError, and RuntimeError
    after `steps`.
    """
    run = Simulator(program, stdin)
    for _ in range(steps):
        if trace:
            print(f"({run.x}, {run.y}) {chr(run.cells.get((run.x, run.y), 32))} {run.stack}")
        run.step()
        if run.ended:
            return run.output
    raise RuntimeError(f"it has not ended after {steps} steps; it has printed {run.output!r}")
