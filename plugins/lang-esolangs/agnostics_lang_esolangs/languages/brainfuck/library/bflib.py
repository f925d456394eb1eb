"""Parts for generators of Brainfuck: cells with fixed places, flags, loops, and decimal numbers of any size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Decimal:
    """A decimal number: the cell of its sign (1 if it is negative) and those of its digits, the lowest first."""

    sign: int
    digits: tuple[int, ...]


class Builder:
    """Emits Brainfuck, and knows where the pointer is."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.at = 0
        self.names: dict[str, int] = {}
        self.free: list[int] = []
        self.size = 0

    @property
    def code(self) -> str:
        """The program so far."""
        return "".join(self.parts)

    # Cells.

    def cell(self, name: str) -> int:
        """The place of a new cell, which is 0."""
        self.names[name] = self.size
        self.size += 1
        return self.size - 1

    def cells(self, name: str, count: int) -> tuple[int, ...]:
        """The places of new cells in a row."""
        return tuple(self.cell(f"{name}{number}") for number in range(count))

    @contextmanager
    def scratch(self, count: int = 1) -> Iterator[tuple[int, ...]]:
        """Cells for a while: they are 0, and must be 0 at the end."""
        lent = tuple(self.free.pop() if self.free else self.cell(f"scratch{self.size}") for _ in range(count))
        yield lent
        self.free.extend(lent)

    def to(self, cell: int) -> None:
        """Move the pointer to a cell."""
        self.parts.append(">" * (cell - self.at) + "<" * (self.at - cell))
        self.at = cell

    def emit(self, cell: int, code: str) -> None:
        """Emit code that begins and ends at a cell."""
        self.to(cell)
        self.parts.append(code)

    def add(self, cell: int, amount: int) -> None:
        """Add a constant, modulo 256."""
        amount = (amount + 128) % 256 - 128
        self.emit(cell, "+" * amount + "-" * -amount)

    def clear(self, cell: int) -> None:
        """Make a cell 0."""
        self.emit(cell, "[-]")

    def set(self, cell: int, value: int) -> None:
        """Make a cell a constant."""
        self.clear(cell)
        self.add(cell, value)

    def move(self, source: int, *targets: int) -> None:
        """Add a cell to others, and make it 0."""
        with self.while_(source):
            self.add(source, -1)
            for target in targets:
                self.add(target, 1)

    def copy(self, source: int, target: int) -> None:
        """Make a cell the same as another, which stays."""
        self.clear(target)
        with self.scratch() as (kept,):
            self.move(source, target, kept)
            self.move(kept, source)

    # Loops and conditions.

    @contextmanager
    def while_(self, cell: int) -> Iterator[None]:
        """Repeat what is emitted within, while a cell is not 0."""
        self.emit(cell, "[")
        yield
        self.emit(cell, "]")

    @contextmanager
    def if_(self, flag: int) -> Iterator[None]:
        """Do what is emitted within once if a cell is not 0; the cell is 0 afterwards."""
        with self.while_(flag):
            yield
            self.clear(flag)

    def is_zero(self, cell: int, flag: int) -> None:
        """Set a flag to 1 if a cell is 0, else to 0."""
        self.set(flag, 1)
        with self.scratch() as (copy,):
            self.copy(cell, copy)
            with self.if_(copy):
                self.clear(flag)

    def equals(self, cell: int, value: int, flag: int) -> None:
        """Set a flag to 1 if a cell is a constant, else to 0."""
        with self.scratch() as (copy,):
            self.copy(cell, copy)
            self.add(copy, -value)
            self.is_zero(copy, flag)
            self.clear(copy)

    def less(self, left: int, right: int, flag: int) -> None:
        """Set a flag to 1 if one cell is less than another, else to 0."""
        self.clear(flag)
        with self.scratch(3) as (a, b, a_is_zero):
            self.copy(left, a)
            self.copy(right, b)
            with self.while_(b):
                self.add(b, -1)
                self.is_zero(a, a_is_zero)
                self.add(a, -1)
                with self.if_(a_is_zero):
                    self.set(flag, 1)
                    self.clear(b)
            self.clear(a)

    def less_than(self, cell: int, value: int, flag: int) -> None:
        """Set a flag to 1 if a cell is less than a constant, else to 0."""
        with self.scratch() as (constant,):
            self.add(constant, value)
            self.less(cell, constant, flag)
            self.clear(constant)

    # Input and output.

    def read(self, cell: int) -> None:
        """Read a byte; 0 at the end of the input, in each dialect."""
        self.clear(cell)
        self.emit(cell, ",")

    def write(self, cell: int) -> None:
        """Print a cell as a character."""
        self.emit(cell, ".")

    def text(self, text: str) -> None:
        """Print a constant text of ASCII, each character from the one before."""
        with self.scratch() as (cell,):
            before = 0
            for byte in text.encode("ascii"):
                self.add(cell, byte - before)
                self.write(cell)
                before = byte
            self.clear(cell)

    # Numbers.

    def number(self, name: str, digits: int) -> Decimal:
        """A new number with room for this many digits; it is 0."""
        return Decimal(self.cell(f"{name} sign"), self.cells(f"{name} digit", digits))

    def read_number(self, number: Decimal) -> None:
        """Read a number, after any spaces and newlines, with the character that follows; 0 at the end of the input."""
        for cell in (number.sign, *number.digits):
            self.clear(cell)
        with self.scratch(2) as (char, flag):
            self._skip_spaces(char, flag)
            self.equals(char, ord("-"), flag)
            with self.if_(flag):
                self.add(number.sign, 1)
                self.read(char)
            self.add(char, -48)
            self.less_than(char, 10, flag)
            with self.while_(flag):
                self.append_digit(number, char)
                self.read(char)
                self.add(char, -48)
                self.less_than(char, 10, flag)
            self.clear(char)

    def _skip_spaces(self, char: int, flag: int) -> None:
        self.add(flag, 1)
        with self.while_(flag):
            self.read(char)
            self.clear(flag)
            with self.scratch() as (is_space,):
                for space in (" ", "\n"):
                    self.equals(char, ord(space), is_space)
                    self.move(is_space, flag)

    def append_digit(self, number: Decimal, digit: int) -> None:
        """Multiply a number by ten, and add a digit, whose cell is 0 afterwards; digits without room are lost."""
        places = number.digits
        self.clear(places[-1])
        for higher, lower in zip(reversed(places[1:]), reversed(places[:-1]), strict=True):
            self.move(lower, higher)
        self.move(digit, places[0])

    def write_number(self, number: Decimal) -> None:
        """Print a number, without zeros before it, and never as -0."""
        with self.scratch(3) as (begun, flag, char):
            for digit in number.digits:
                self._or_nonzero(digit, begun)
            self.copy(number.sign, flag)
            with self.if_(flag), self.if_(begun):
                self.text("-")
            self.clear(begun)
            for digit in reversed(number.digits[1:]):
                self._or_nonzero(digit, begun)
                self.copy(begun, flag)
                with self.if_(flag):
                    self._write_digit(digit, char)
            self._write_digit(number.digits[0], char)
            self.clear(begun)

    def _or_nonzero(self, cell: int, flag: int) -> None:
        """Set a flag to 1 if a cell is not 0."""
        with self.scratch() as (copy,):
            self.copy(cell, copy)
            with self.if_(copy):
                self.set(flag, 1)

    def _write_digit(self, digit: int, char: int) -> None:
        self.copy(digit, char)
        self.add(char, 48)
        self.write(char)
        self.clear(char)

    def add_digits(self, target: Decimal, other: Decimal) -> None:
        """Add the digits of one number to those of another; signs are left alone, and a carry out of it is lost."""
        with self.scratch(3) as (carry, flag, copy):
            for to, digit in zip(target.digits, other.digits, strict=True):
                self.move(carry, to)
                self.copy(digit, copy)
                self.move(copy, to)
                self.less_than(to, 10, flag)
                self.is_zero(flag, carry)
                self.clear(flag)
                self.copy(carry, flag)
                with self.if_(flag):
                    self.add(to, -10)
            self.clear(carry)

    def subtract_digits(self, target: Decimal, other: Decimal) -> None:
        """Subtract the digits of one number from those of another, which must not be smaller."""
        with self.scratch(3) as (borrow, flag, copy):
            for to, digit in zip(target.digits, other.digits, strict=True):
                self.add(to, 10)
                self._subtract(borrow, to)
                self.copy(digit, copy)
                self._subtract(copy, to)
                self.less_than(to, 10, borrow)
                self.is_zero(borrow, flag)
                with self.if_(flag):
                    self.add(to, -10)
            self.clear(borrow)

    def _subtract(self, cell: int, target: int) -> None:
        """Subtract a cell from another, and make it 0."""
        with self.while_(cell):
            self.add(cell, -1)
            self.add(target, -1)

    def less_digits(self, left: Decimal, right: Decimal, flag: int) -> None:
        """Set a flag to 1 if the digits of one number are a smaller number than those of another, else to 0."""
        self.clear(flag)
        with self.scratch() as (decided,):
            for a, b in zip(left.digits, right.digits, strict=True):  # the highest digit that differs has the last word
                self.less(a, b, decided)
                with self.if_(decided):
                    self.set(flag, 1)
                self.less(b, a, decided)
                with self.if_(decided):
                    self.clear(flag)
