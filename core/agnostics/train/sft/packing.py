"""Packing: which documents share a row, without padding."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from agnostics.train.sft.documents import Document
from agnostics.train.sft.mixture import Draw


def pack(draws: Iterable[Draw], max_tokens: int) -> list[list[Document]]:
    """The documents of each row, of one source and at most `max_tokens` tokens or one document; the largest row first.

    The longest document comes first, each into the first row with room for it (first fit decreasing): at most 11/9 of
    the fewest rows possible, and one (Dósa 2007).
    """
    by_source = defaultdict[int, list[Document]](list)
    for source, document in draws:
        by_source[source].append(document)
    rows = [row for documents in by_source.values() for row in _first_fit(documents, max_tokens)]
    return sorted(rows, key=lambda row: sum(map(len, row)), reverse=True)


def _first_fit(documents: Sequence[Document], max_tokens: int) -> list[list[Document]]:
    rows, room = list[list[Document]](), list[int]()
    for document in sorted(documents, key=len, reverse=True):
        place = next((number for number, left in enumerate(room) if left >= len(document)), len(rows))
        if place == len(rows):
            rows.append([])
            room.append(max_tokens)
        rows[place].append(document)
        room[place] -= len(document)
    return rows
