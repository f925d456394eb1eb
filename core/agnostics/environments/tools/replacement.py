"""Replacing lines of a text: SEARCH/REPLACE blocks, and lines that occur exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agnostics.environments.tools.tool import ArgumentError

_SEARCH, _DIVIDER, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
_MARKS = (_SEARCH, _DIVIDER, _REPLACE)
_MAX_COUNTED = 10
_CONTEXT_LINES = 8


@dataclass(frozen=True, slots=True)
class Replacement:
    """Lines, and those in their place. Each ends with a line feed; there may be no new ones."""

    old: str
    new: str


def blocks_of(text: str) -> Iterator[Replacement]:
    """The SEARCH/REPLACE blocks of a text, which holds nothing else. Raises ArgumentError."""
    lines = iter(text.split("\n"))
    for line in lines:
        if line.rstrip() == _SEARCH:
            old, new = _until(_DIVIDER, lines), _until(_REPLACE, lines)
            if not old:
                raise ArgumentError("a SEARCH section is empty")
            yield Replacement(old, new)
        elif line.strip():
            raise ArgumentError(f"there is a line outside of the blocks; a block begins with '{_SEARCH}'")


def _until(mark: str, lines: Iterator[str]) -> str:
    """The lines before `mark`. Another mark among them could be meant in two ways, so it is refused."""
    taken = list[str]()
    for line in lines:
        if (tag := line.rstrip()) == mark:
            return "".join(f"{text}\n" for text in taken)
        if tag in _MARKS:
            raise ArgumentError(
                f"the line '{tag}' stands in a block before its '{mark}'; "
                "such a line can be neither searched for nor written"
            )
        taken.append(line)
    raise ArgumentError(f"a block is not complete; the line '{mark}' is missing")


def replaced(text: str, replacement: Replacement) -> tuple[str, int]:
    """The text with the lines replaced, and the number of the first of them.

    Whole lines are compared, with their indentation. Raises ArgumentError unless they occur exactly once.
    """
    ends_whole = not text or text.endswith("\n")
    framed = f"\n{text}" if ends_whole else f"\n{text}\n"
    found = _occurrences(framed, f"\n{replacement.old}")
    if len(found) != 1:
        raise ArgumentError(_not_once(framed, found))
    at = found[0] + 1
    changed = framed[1:at] + replacement.new + framed[at + len(replacement.old) :]
    return (changed if ends_whole else changed.removesuffix("\n")), framed.count("\n", 0, at)


def _occurrences(text: str, old: str) -> list[int]:
    """The offsets of the first ones, at most one more than are counted: a text of a letter holds any number."""
    found, at = list[int](), text.find(old)
    while at >= 0 and len(found) <= _MAX_COUNTED:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _not_once(text: str, found: Iterable[int]) -> str:
    numbers = [str(text.count("\n", 0, at + 1)) for at in found]
    if not numbers:
        return "the search lines occur 0 times; they must match whole lines exactly, with their indentation"
    count = f"more than {_MAX_COUNTED}" if len(numbers) > _MAX_COUNTED else str(len(numbers))
    return f"the search lines occur {count} times, at lines {', '.join(numbers[:_MAX_COUNTED])}; add lines around them"


def numbered(text: str, first: int, count: int) -> str:
    """`count` lines from number `first` on, with some around them, as `cat -n` prints them."""
    lines = text.removesuffix("\n").split("\n")
    start, end = max(1, first - _CONTEXT_LINES), first + count + _CONTEXT_LINES
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines[start - 1 : end - 1], start))
