"""Sentences of advice in a completion: 10 to 20, each one line of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from agnostics.types.code_extraction import strip_reasoning

MIN_SENTENCES, MAX_SENTENCES = 10, 20
"""The number of sentences of advice in a prompt (section 3.2)."""
MAX_SENTENCE_CHARS = 400
_MAX_COMPLETION_CHARS = 100_000
_MIN_ITEMS = 3
_MIN_WORDS = 3
_MIN_LETTER_FRACTION = 0.4

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2013]|\(?\d{1,3}[.):\]])\s+(?P<text>\S.*)")
_INLINE_ITEM = re.compile(r"(?<=[.!?])\s+(?=\(?\d{1,2}[.)]\s+[A-Z`\"'*])")
_BOLD_START = re.compile(r"\*\*(.+?)\*\*")
_SENTENCE_BREAK = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][)\"'\u201d`]))"
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)"
    r"\s+(?=[\"'\u201c\u2018`(\[]?[A-Z`])"
)
_SENTENCE_START = re.compile(r"[\"'\u201c\u2018`(\[*]*[^\W_a-z]|`")
_SENTENCE_END = re.compile(r"[.!?][)\"'\u201d`]*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def extract_sentences(completion: str, *, truncated: bool = False) -> list[str]:
    """The sentences of advice in `completion`, at most 20, without duplicates.

    Reads numbered and bulleted lists, else plain prose. Leaves out reasoning, code blocks, headings, control
    characters, overlong sentences and text that is no sentence; of a `truncated` list also an unfinished last item. Of
    a list with too many sentences, the first of each item count.
    """
    lines = _lines(strip_reasoning(completion)[:_MAX_COMPLETION_CHARS])
    prose, unfenced = list(_without_code(lines)), [line for line in lines if not _FENCE.match(line)]
    groups = _list_sentences(prose, truncated) or _prose_sentences(prose) or _list_sentences(unfenced, truncated)
    items = [item for item in ([s for s in map(_clean, group) if _is_sentence(s)] for group in groups) if item]
    every, first = _unique(s for item in items for s in item), _unique(item[0] for item in items)
    return (first if len(every) > MAX_SENTENCES and len(first) >= MIN_SENTENCES else every)[:MAX_SENTENCES]


def _lines(text: str) -> list[str]:
    """The lines of `text` without control characters; numbered items within a line become lines of their own."""
    lines = ("".join(c if c.isprintable() else " " if c.isspace() else "" for c in line) for line in text.splitlines())
    return [part for line in lines for part in _INLINE_ITEM.split(line)]


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def _list_sentences(lines: Sequence[str], truncated: bool) -> list[list[str]]:
    """The sentences of each item, if `lines` hold a list; an item that ends in a colon only introduces others."""
    items = _list_items(lines)
    if len(items) < _MIN_ITEMS:
        return []
    if truncated and not _SENTENCE_END.search(items[-1]):
        items.pop()
    return [
        [s if _SENTENCE_END.search(s) else f"{s}." for s in _SENTENCE_BREAK.split(item)]
        for item in items
        if item[-1] != ":"
    ]


def _prose_sentences(lines: Sequence[str]) -> list[list[str]]:
    """The sentences of plain prose, each in a list of its own; they start and end as sentences do, unlike code."""
    split = (sentence for paragraph in _paragraphs(lines) for sentence in _SENTENCE_BREAK.split(paragraph))
    return [[sentence] for sentence in split if _SENTENCE_START.match(sentence) and _SENTENCE_END.search(sentence)]


def _list_items(lines: Iterable[str]) -> list[str]:
    """The items of all lists, each with its continuation lines."""
    items: list[str] = []
    inside = False
    for line in lines:
        if match := _ITEM.match(line):
            items.append(match["text"].strip())
        elif inside and line.strip():
            items[-1] += f" {line.strip()}"
        inside = bool(items and line.strip())
    return items


def _paragraphs(lines: Iterable[str]) -> list[str]:
    """The paragraphs of plain prose, without headings and lines that end in a colon."""
    text = "\n".join("" if line.lstrip().startswith("#") or line.rstrip().endswith(":") else line for line in lines)
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def _clean(sentence: str) -> str:
    """One line, without bold markup at its start; elsewhere two stars may be an operator."""
    text = " ".join(sentence.split())
    start = _BOLD_START.match(text)
    return start[1] + text[start.end() :] if start else text


def _is_sentence(text: str) -> bool:
    """True for a text of several words, mostly letters, that is not too long."""
    visible = text.replace(" ", "")
    return (
        len(text) <= MAX_SENTENCE_CHARS
        and "\N{REPLACEMENT CHARACTER}" not in text
        and len(_WORD.findall(text)) >= _MIN_WORDS
        and sum(map(str.isalpha, visible)) >= _MIN_LETTER_FRACTION * len(visible)
    )


def _unique(texts: Iterable[str]) -> list[str]:
    """`texts` without those whose words all occurred before in the same order."""
    return list({re.sub(r"\W+", " ", text.casefold()).strip(): text for text in reversed(list(texts))}.values())[::-1]
