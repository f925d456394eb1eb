"""What is kept of a model's answer: 10 to 20 sentences, each one line of plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

FEWEST, MOST = 10, 20
"""How many sentences of advice a prompt is given (section 3.2)."""
LONGEST = 400
"""Characters of a sentence, at most."""
_READ = 100_000
_LEAST_ITEMS = 3
_LEAST_WORDS = 3
_LETTERS = 0.4

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2013]|\(?\d{1,3}[.):\]])\s+(?P<text>\S.*)")
_INLINE_NUMBER = re.compile(r"(?<=[.!?])\s+(?=\(?\d{1,2}[.)]\s+[A-Z`\"'*])")
_BOLD_HEAD = re.compile(r"\*\*(.+?)\*\*")
_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][)\"'\u201d`]))"
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)"
    r"\s+(?=[\"'\u201c\u2018`(\[]?[A-Z`])"
)
_BEGUN = re.compile(r"[\"'\u201c\u2018`(\[*]*[^\W_a-z]|`")
_ENDED = re.compile(r"[.!?][)\"'\u201d`]*$")
_WORD = re.compile(r"[^\W\d_]{2,}")


def sentences(answer: str, *, whole: bool = True) -> list[str]:
    """The sentences of advice in `answer`, at most 20, none twice; not `whole` where the answer was cut off.

    Reads numbered and bulleted lists, else plain prose. Reasoning, blocks of code, headings, control characters, what
    is too long and what is no sentence are left out. Of a list with too many sentences the first of each item count.
    """
    lines = _lines(without_reasoning(answer)[:_READ])
    prose, unfenced = list(_without_code(lines)), [line for line in lines if not _FENCE.match(line)]
    found = _listed(prose, whole) or _spoken(prose) or _listed(unfenced, whole)
    items = [item for item in ([s for s in map(_tidy, item) if _is_sentence(s)] for item in found) if item]
    every, first = _unique(s for item in items for s in item), _unique(item[0] for item in items)
    return (first if len(every) > MOST and len(first) >= FEWEST else every)[:MOST]


def without_reasoning(answer: str) -> str:
    """`answer` without what a model thought aloud before it."""
    return answer.rpartition("</think>")[2].partition("<think>")[0]


def _lines(text: str) -> list[str]:
    """The lines of `text` without control characters; items numbered within a line each get one of their own."""
    lines = ("".join(c if c.isprintable() else " " if c.isspace() else "" for c in line) for line in text.splitlines())
    return [part for line in lines for part in _INLINE_NUMBER.split(line)]


def _without_code(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            yield line


def _listed(lines: Sequence[str], whole: bool) -> list[list[str]]:
    """The sentences of each item, where `lines` hold a list; an item that introduces what follows is none."""
    items = _list_items(lines)
    if len(items) < _LEAST_ITEMS:
        return []
    if not whole and not _ENDED.search(items[-1]):
        items.pop()
    return [[s if _ENDED.search(s) else f"{s}." for s in _END.split(item)] for item in items if item[-1] != ":"]


def _spoken(lines: Sequence[str]) -> list[list[str]]:
    """The sentences of plain prose, each on its own: they begin and end as sentences do, and code does not."""
    found = (sentence for paragraph in _paragraphs(lines) for sentence in _END.split(paragraph))
    return [[sentence] for sentence in found if _BEGUN.match(sentence) and _ENDED.search(sentence)]


def _list_items(lines: Iterable[str]) -> list[str]:
    """The items of all lists, each with the lines that go on with it."""
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
    """The paragraphs of plain prose; headings, and lines that introduce what follows, are none."""
    text = "\n".join("" if line.lstrip().startswith("#") or line.rstrip().endswith(":") else line for line in lines)
    return [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text) if paragraph.strip()]


def _tidy(sentence: str) -> str:
    """One line, without bold type at its head; elsewhere two stars may be an operator."""
    text = " ".join(sentence.split())
    head = _BOLD_HEAD.match(text)
    return head[1] + text[head.end() :] if head else text


def _is_sentence(text: str) -> bool:
    """Whether `text` may pass for a sentence: of some words, mostly letters, not too long."""
    shown = text.replace(" ", "")
    return (
        len(text) <= LONGEST
        and "\N{REPLACEMENT CHARACTER}" not in text
        and len(_WORD.findall(text)) >= _LEAST_WORDS
        and sum(map(str.isalpha, shown)) >= _LETTERS * len(shown)
    )


def _unique(texts: Iterable[str]) -> list[str]:
    """`texts` without those whose words all stood before in the same order."""
    return list({re.sub(r"\W+", " ", text.casefold()).strip(): text for text in reversed(list(texts))}.values())[::-1]
