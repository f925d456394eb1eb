"""Wrong programs from right ones, in any language: small slips that leave a program looking like a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r"@\w+@|[A-Za-z_]\w*|\d+|[-+*/%<>=~!&|^]+|\s+|.", re.DOTALL)
_OPERATORS = {
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "%": "/",
    "<": ">",
    ">": "<",
    "<=": ">",
    ">=": "<",
    "==": ">",
    "=": "==",
}
_ATTEMPTS = 50


def wrong_programs(program: str, others: Sequence[str], count: int, rng: Random) -> list[str]:
    """Up to `count` programs unlike `program` and each other: slips in it, and programs of `others` in its place.

    Placeholders such as `@k@` are kept as they are, but for slips that put a number there. Nothing is run: a slip may
    by chance leave a program right.
    """
    if not program.strip():
        return []
    found = dict.fromkeys(rng.sample(others, min(len(others), count // 3)))
    for _ in range(_ATTEMPTS):
        if len(found) < count:
            found[rng.choice(_SLIPS)(program, rng)] = None
    return [slip for slip in found if slip != program and slip.strip()]


def _swap_operator(program: str, rng: Random) -> str:
    return _replace_token(program, rng, _OPERATORS.get)


def _nudge_number(program: str, rng: Random) -> str:
    def nudged(token: str) -> str | None:
        """A number of one digit or two: larger ones are mostly room for something, where one more is not wrong."""
        return str(int(token) + rng.choice((-1, 1))) if token.isdecimal() and int(token) < 100 else None

    return _replace_token(program, rng, nudged)


def _forget_parameter(program: str, rng: Random) -> str:
    return _replace_token(program, rng, lambda t: str(rng.randint(2, 9)) if t.startswith("@") and t != "@" else None)


def _swap_name(program: str, rng: Random) -> str:
    names = sorted({t for t in _TOKEN.findall(program) if t.isidentifier()})
    return _replace_token(program, rng, lambda t: rng.choice(names) if t in names else None)


def _drop_line(program: str, rng: Random) -> str:
    lines = program.splitlines(keepends=True)
    del lines[rng.choice(_written(lines))]
    return "".join(lines)


def _repeat_line(program: str, rng: Random) -> str:
    lines = program.splitlines(keepends=True)
    place = rng.choice(_written(lines))
    return "".join([*lines[:place], lines[place], *lines[place:]])


def _written(lines: Sequence[str]) -> list[int]:
    """The places of the lines that are not blank: a blank one more or less makes no program wrong."""
    return [place for place, line in enumerate(lines) if line.strip()]


def _replace_token(program: str, rng: Random, change: Callable[[str], str | None]) -> str:
    """`program` with one of the tokens for which `change` has another, changed."""
    tokens = _TOKEN.findall(program)
    changes = [(place, new) for place, token in enumerate(tokens) if (new := change(token)) is not None]
    if changes:
        place, new = rng.choice(changes)
        tokens[place] = new
    return "".join(tokens)


_SLIPS: tuple[Callable[[str, Random], str], ...] = (
    _swap_operator,
    _nudge_number,
    _forget_parameter,
    _swap_name,
    _drop_line,
    _repeat_line,
)
