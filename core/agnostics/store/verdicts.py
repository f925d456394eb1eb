"""Verdicts of tests as small numbers: there are five times as many tests as programs, and each has one."""

from __future__ import annotations

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
_NUMBERS = {verdict: number for number, verdict in enumerate(NUMBERED)}


class NumberedVerdict(TypeDecorator[str]):
    """A verdict, a str in Python and its number in the database."""

    impl = SmallInteger
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else _NUMBERS[value]

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else NUMBERED[value]


def verdict_of(number: str) -> str:
    """SQL for the verdict whose number is the expression `number`."""
    return f"case {number} {' '.join(f'when {n} then {verdict!r}' for n, verdict in enumerate(NUMBERED))} end"


def number_of(verdict: str) -> str:
    """SQL for the number of the verdict that the expression `verdict` is."""
    return f"case {verdict} {' '.join(f'when {name!r} then {n}' for n, name in enumerate(NUMBERED))} end"
