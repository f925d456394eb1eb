"""Counted nouns in messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """`number` with `noun`, which gets an s unless the number is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
