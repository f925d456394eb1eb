"""Extraction of the program from a completion: reasoning and Markdown code blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?P<info>[^\r\n]*+)$")
"""Possessive, because a line that is no fence would otherwise take time quadratic in its length."""
REASONING_TAGS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))


def markdown_parts(text: str) -> Iterator[tuple[str | None, str]]:
    """The fenced code blocks of a Markdown text, as (language tag in lower case, text), and the prose, as (None, text).

    They come in order. Follows CommonMark 0.31 section 4.5: a block ends with a fence at least as long as the one that
    opened it, or with the text. Only a line feed ends a line, unlike in `str.splitlines`.
    """
    fence, tag, lines = "", None, list[str]()
    for line in text.replace("\r\n", "\n").removesuffix("\n").split("\n"):
        match = _FENCE.match(line)
        if not fence and match and not (match["fence"][0] == "`" and "`" in match["info"]):
            if lines:
                yield None, _join(lines)
            fence, tag, lines = match["fence"], _tag(match["info"]), []
        elif fence and match and match["fence"].startswith(fence) and not match["info"].strip():
            yield tag, _join(lines)
            fence, tag, lines = "", None, []
        else:
            lines.append(line)
    if lines:
        yield tag, _join(lines)


def code_blocks(completion: str) -> Iterator[tuple[str, str]]:
    """The fenced code blocks of a Markdown text, in order, as `markdown_parts` has them."""
    return ((tag, block) for tag, block in markdown_parts(completion) if tag is not None)


def is_blank(text: str) -> bool:
    """True if `text` holds only white space."""
    return not text.strip()


def extract_program(completion: str, tags: Collection[str], empty: Callable[[str], bool] = is_blank) -> str | None:
    """The program in `completion`: its last block tagged with one of `tags`, else its last block, else None.

    The last, because models write drafts before their final program. Blocks for which `empty` is true do not count.
    """
    blocks = [(tag, text) for tag, text in code_blocks(completion) if not empty(text)]
    tagged = [text for tag, text in blocks if tag in tags]
    texts = tagged or [text for _, text in blocks]
    return texts[-1] if texts else None


def strip_reasoning(completion: str) -> str:
    """`completion` without the reasoning in `<think>` tags, or `[THINK]` as Mistral has them, closed or not."""
    for opening, closing in REASONING_TAGS:
        completion = completion.rpartition(closing)[2].partition(opening)[0]
    return completion


def _tag(info: str) -> str:
    words = info.split()
    return words[0].strip("{}.").lower() if words else ""


def _join(lines: list[str]) -> str:
    return "\n".join(lines) + "\n" if lines else ""
