"""Hostile text as a page shows it: what a browser would obey or hide becomes visible, and what is long is cut."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from markupsafe import Markup, escape

MOST = 20_000
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, around the place where it leaves the expected one: `marked` is that place."""

    before: str
    marked: str = ""
    after: str = ""
    skipped: int = 0
    """How many characters stand before it."""
    left: int = 0
    """How many characters stand after it."""


def visible(text: str) -> Markup:
    """`text` for a page: control characters, direction overrides and other characters without a shape are named."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return escape(text)
    return Markup("").join(_part("".join(some), as_it_is=as_it_is) for as_it_is, some in groupby(text, _is_plain))


def name(text: object) -> Markup:
    """A name, visible and of bounded length."""
    return visible(short(str(text)))


def short(text: str) -> str:
    """At most 120 characters of `text`, the middle left out."""
    half = LONGEST_NAME // 2
    return text if len(text) <= LONGEST_NAME else f"{text[:half]}…{text[-half:]}"


def plain(text: object) -> str:
    """A name where no markup can be, as in the title of a page."""
    return "".join(c if _is_plain(c) and c not in "\t\n" else "\N{REPLACEMENT CHARACTER}" for c in short(str(text)))


def quoted(text: object) -> str:
    """`text` as one part of an address."""
    return quote(str(text), safe="")


def piece(text: str, place: tuple[int, int] | None = None, most: int = MOST) -> Piece:
    """As much of `text` as a page shows: its beginning, or what stands around `place`, a begin and an end."""
    if place is None:
        return Piece(text[:most], left=max(0, len(text) - most))
    begin, end = place
    first = 0 if end < most else max(0, begin - most // 10)
    end = min(end, first + most)
    last = first + most
    return Piece(text[first:begin], text[begin:end], text[end:last], first, max(0, len(text) - last))


def around(text: str, wanted: str, most: int) -> Piece:
    """As much of `text` as a page shows of something found, around the first place that holds `wanted`."""
    begin = text.lower().find(wanted.lower()) if wanted else -1
    return piece(text, None if begin < 0 else (begin, begin + len(wanted)), most)


def _is_plain(character: str) -> bool:
    return character.isprintable() or character in "\t\n"


def _part(text: str, *, as_it_is: bool) -> Markup:
    if as_it_is:
        return escape(text)
    return Markup("").join(
        Markup('<span class="odd" title="{}">{}</span>').format(unicodedata.name(c, "a control character"), _symbol(c))
        for c in text
    )


def _symbol(character: str) -> str:
    """A visible symbol for a control character, the number of any other."""
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"
