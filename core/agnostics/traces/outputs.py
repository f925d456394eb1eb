"""Equality of a predicted output with the recorded one."""

from __future__ import annotations

import ast
import warnings

_MOST_CHARACTERS = 20_000
"""Of a text that is read as a literal: what a model wrote may be made to take long."""


def same_value(predicted: str, recorded: str) -> bool:
    """Whether two texts are literals of Python with equal values, as `==` has it, or the same text.

    A text of more than 20,000 characters, or one that nests too deeply to be read, is compared as a text.
    """
    if predicted.strip() == recorded.strip():
        return True
    try:
        return bool(_literal(predicted) == _literal(recorded))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def same_text(predicted: str, recorded: str) -> bool:
    """Whether two outputs of programs have the same lines, without trailing white space."""
    return _lines(predicted) == _lines(recorded)


def _literal(text: str) -> object:
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("too long")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.literal_eval(text.strip())


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]
