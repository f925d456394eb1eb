"""Verdicts of tests as small numbers: there are five times as many tests as programs, and each has one."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Dialect, SmallInteger
from sqlalchemy.types import TypeDecorator

NUMBERED = (
    "accepted",
    "wrong_answer",
    "runtime_error",
    "time_limit",
    "memory_limit",
    "output_limit",
    "compile_error",
    "no_program",
    "sandbox_error",
    "skipped",
)
"""The verdict that each number stands for; a new one goes to the end."""
_NUMBERS: dict[str | None, int | None] = {None: None, **{verdict: n for n, verdict in enumerate(NUMBERED)}}


class NumberedVerdict(TypeDecorator[str]):
    """A verdict, a str in Python and its number in the database."""

    impl = SmallInteger
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[str | None], int | None]:  # noqa: ARG002
        """Called for each of very many rows, where SQLAlchemy's `process_bind_param` would be called by another."""
        return _NUMBERS.__getitem__

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else NUMBERED[value]


def verdict_of(number: str) -> str:
    """SQL for the verdict whose number is the expression `number`."""
    return f"case {number} {' '.join(f'when {n} then {verdict!r}' for n, verdict in enumerate(NUMBERED))} end"


def number_of(verdict: str) -> str:
    """SQL for the number of the verdict that the expression `verdict` is."""
    return f"case {verdict} {' '.join(f'when {name!r} then {n}' for n, name in enumerate(NUMBERED))} end"
