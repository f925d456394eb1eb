"""Numeric codes for the verdicts of tests, the most numerous rows of the database."""

from __future__ import annotations

from sqlalchemy import Dialect, SmallInteger
from sqlalchemy.types import TypeDecorator

VERDICTS = (
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
"""The verdict of each code, which is its index; append new verdicts at the end."""
_CODES = {verdict: code for code, verdict in enumerate(VERDICTS)}


class VerdictCode(TypeDecorator[str]):
    """A verdict: a str in Python, its code in the database."""

    impl = SmallInteger
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        return None if value is None else _CODES[value]

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else VERDICTS[value]


def verdict_sql(code: str) -> str:
    """SQL for the verdict with the code that the SQL expression `code` has."""
    return f"case {code} {' '.join(f'when {n} then {verdict!r}' for n, verdict in enumerate(VERDICTS))} end"


def verdict_code_sql(verdict: str) -> str:
    """SQL for the code of the verdict that the SQL expression `verdict` has."""
    return f"case {verdict} {' '.join(f'when {name!r} then {n}' for n, name in enumerate(VERDICTS))} end"
