"""Programs that end on every input, and programs that do not, in pairs that look alike."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True, slots=True)
class Pair:
    """A program that ends and one that diverges on `witness`, in the part of Python that is translated.

    `@step@` (2 to 9), `@more@` (1 to 5, added to it) and `@start@` (0 to 60) stand for constants. Programs that diverge
    print and store nothing meanwhile: only the time limit ends them.
    """

    ends: str
    diverges: str
    witness: str = "7"


def _pair(ends: str, diverges: str, witness: str = "7") -> Pair:
    return Pair(dedent(ends).strip() + "\n", dedent(diverges).strip() + "\n", witness)


PAIRS: Mapping[str, Pair] = {
    "count_down": _pair(
        """
        while n > @start@:
            n = n - @step@
        """,
        """
        while n != @start@:
            n = n - @step@
        """,
        "@start@-1",
    ),
    "count_up": _pair(
        """
        i = @start@
        while i < n:
            i = i + @step@
            s = s + 1
        """,
        """
        i = 0
        while i < n:
            i = i * @step@
            s = (s + 1) % 1000
        """,
    ),
    "race": _pair(
        """
        i = 0
        while i < n:
            i = i + @step@ + @more@
            n = n + @step@
        """,
        """
        i = 0
        while i < n:
            i = (i + @step@) % 1000003
            n = (n + @step@) % 1000003 + @more@
            if i > n - @more@:
                i = n - @more@
        """,
    ),
    "inner": _pair(
        """
        for i in range(0, @step@):
            m = i + @start@
            while m > 0:
                m = m // 2
                s = s + 1
        """,
        """
        for i in range(0, @step@):
            m = i + @start@
            if n > @start@:
                while m >= 0:
                    m = m // 2
                    s = (s + 1) % 1000
        """,
        "1000",
    ),
    "collatz": _pair(
        """
        if n > 100000:
            n = 100000
        while n > 1:
            if n - n // 2 * 2 == 0:
                n = n // 2
            else:
                n = n + 1
        """,
        """
        if n > 100000:
            n = 100000
        while n > 1:
            if n - n // 2 * 2 == 0:
                n = n // 2
            else:
                n = n + 3
        """,
        "3",
    ),
    "wheel": _pair(
        """
        if n < 0:
            n = 0
        x = n % 64
        while x != @start@:
            x = (x * 5 + 3) % 64
            s = s + 1
        """,
        """
        if n < 0:
            n = 0
        x = n % 64
        while x != @start@:
            x = (x * 5 + 4) % 64
            s = (s + 1) % 1000
        """,
        "@start@+1",
    ),
    "two_loops": _pair(
        """
        if n > 3000:
            n = 3000
        i = 0
        while i < n:
            j = n
            while j > i:
                j = j - @step@
                s = s + 1
            i = i + @more@
        """,
        """
        if n > 3000:
            n = 3000
        i = 0
        while i < n:
            j = n
            while j > i:
                j = j - @step@
                s = (s + 1) % 1000
            i = i + j - j
        """,
    ),
    "rare": _pair(
        """
        m = n
        if n > 4000:
            m = 4000
        while m > 0:
            m = m - 1
            if m == @start@:
                m = m - 1
            s = s + 1
        """,
        """
        m = n
        if n > 4000:
            m = 4000
        while m > 0:
            m = m - 1
            if m == @start@ + 90:
                m = m + 1
            s = (s + 1) % 1000
        """,
        "200",
    ),
}


def planted_pair(pair: Pair, draw: random.Random) -> tuple[Pair, str]:
    """A pair with constants, and the input on which the second program diverges."""
    constants = {"step": draw.randint(2, 9), "more": draw.randint(1, 5), "start": draw.randint(0, 60)}
    ends, diverges, witness = (_filled(text, constants) for text in (pair.ends, pair.diverges, pair.witness))
    head, tail = f"n = int(input())\ns = {constants['start']}\n", "print(s)\n"
    return Pair(f"{head}{ends}{tail}", f"{head}{diverges}{tail}", witness), str(_sum(witness))


def _filled(text: str, constants: Mapping[str, int]) -> str:
    for name, value in constants.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def _sum(text: str) -> int:
    """The value of a number, or of a number and one that is added or subtracted."""
    if "+" in text:
        return sum(map(int, text.split("+")))
    first, minus, second = text.partition("-")
    return int(first) - int(second) if minus and first else int(text)
