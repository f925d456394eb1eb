"""Escaping of untrusted text for pages: markup and invisible characters are shown, long texts are shortened."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import quote

from markupsafe import Markup, escape

MOST = 20_000
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text around a `marked` span, as the first difference from the expected output."""

    before: str
    marked: str = ""
    after: str = ""
    skipped: int = 0
    """The number of characters of the text before the excerpt."""
    left: int = 0
    """The number of characters of the text after the excerpt."""


def visible(text: str) -> Markup:
    """`text`, escaped: control characters, direction overrides and other invisible characters are shown by name."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return escape(text)
    return Markup("").join(
        _run("".join(characters), printable=printable) for printable, characters in groupby(text, _is_printable)
    )


def name(text: object) -> Markup:
    """A name, escaped and of bounded length."""
    return visible(short(str(text)))


def short(text: str) -> str:
    """At most 120 characters of `text`, with an ellipsis in the middle."""
    half = LONGEST_NAME // 2
    return text if len(text) <= LONGEST_NAME else f"{text[:half]}…{text[-half:]}"


def plain(text: object) -> str:
    """A name as plain text, for places without markup, as the title of a page."""
    return "".join(c if _is_printable(c) and c not in "\t\n" else "\N{REPLACEMENT CHARACTER}" for c in short(str(text)))


def quoted(text: object) -> str:
    """`text`, quoted as one segment of a URL."""
    return quote(str(text), safe="")


def excerpt(text: str, span: tuple[int, int] | None = None, most: int = MOST) -> Excerpt:
    """At most `most` characters of `text`: its beginning, or the part around `span`, a begin and an end."""
    if span is None:
        return Excerpt(text[:most], left=max(0, len(text) - most))
    begin, end = span
    first = 0 if end < most else max(0, begin - most // 10)
    end = min(end, first + most)
    last = first + most
    return Excerpt(text[first:begin], text[begin:end], text[end:last], first, max(0, len(text) - last))


def excerpt_around(text: str, query: str, most: int) -> Excerpt:
    """At most `most` characters of `text`, around the first match of `query`, ignoring case."""
    begin = text.lower().find(query.lower()) if query else -1
    return excerpt(text, None if begin < 0 else (begin, begin + len(query)), most)


def _is_printable(character: str) -> bool:
    return character.isprintable() or character in "\t\n"


def _run(text: str, *, printable: bool) -> Markup:
    if printable:
        return escape(text)
    return Markup("").join(
        Markup('<span class="odd" title="{}">{}</span>').format(unicodedata.name(c, "a control character"), _symbol(c))
        for c in text
    )


def _symbol(character: str) -> str:
    """The symbol of a control character, the code point of any other."""
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"
