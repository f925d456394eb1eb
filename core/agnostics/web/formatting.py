"""Formatting of numbers, durations and times for pages."""

from __future__ import annotations

from datetime import datetime, timedelta

UNKNOWN = "\N{EN DASH}"
_SYMBOLS = {
    "accepted": "✓",
    "wrong_answer": "✗",
    "runtime_error": "R",
    "time_limit": "T",
    "output_limit": "O",
    "memory_limit": "M",
    "compile_error": "C",
    "no_program": "N",
    "sandbox_error": "S",
    "skipped": "·",
}


def symbol(verdict: str) -> str:
    """One character for a verdict, so that it does not depend on colour alone."""
    return _SYMBOLS.get(verdict, "?")


def count(value: int) -> str:
    """An integer, with thousands separators."""
    return f"{value:,}"


def rate(value: float | None) -> str:
    """A rate or a reward, with three decimals."""
    return UNKNOWN if value is None else f"{value:.3f}"


def number(value: float | None) -> str:
    """Any number, with four significant digits."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"


def seconds(value: float | timedelta | None) -> str:
    """A duration in the unit that fits it."""
    if value is None:
        return UNKNOWN
    length = value.total_seconds() if isinstance(value, timedelta) else value
    if length < 1:
        return f"{length * 1000:.3g} ms"
    if length < 120:
        return f"{length:.3g} s"
    minutes = round(length / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def timestamp(value: datetime) -> str:
    """A date and time, UTC."""
    return f"{value:%Y-%m-%d %H:%M}"
