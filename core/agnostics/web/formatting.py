"""Figures as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta

UNKNOWN = "\N{EN DASH}"
_MARKS = {
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


def mark(verdict: str) -> str:
    """One character for a verdict, for those who do not see its colour."""
    return _MARKS.get(verdict, "?")


def count(value: int) -> str:
    """A whole number."""
    return f"{value:,}"


def rate(value: float | None) -> str:
    """A share, or a reward."""
    return UNKNOWN if value is None else f"{value:.3f}"


def figure(value: float | None) -> str:
    """Any figure, to four places that count."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"


def seconds(value: float | timedelta | None) -> str:
    """A time of any length."""
    if value is None:
        return UNKNOWN
    length = value.total_seconds() if isinstance(value, timedelta) else value
    if length < 1:
        return f"{length * 1000:.3g} ms"
    if length < 120:
        return f"{length:.3g} s"
    minutes = round(length / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def moment(value: datetime) -> str:
    """A time of day, UTC."""
    return f"{value:%Y-%m-%d %H:%M}"
