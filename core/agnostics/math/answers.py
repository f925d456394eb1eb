r"""Extraction of the final answer from a completion: the text in its only `\boxed{...}`."""

from __future__ import annotations

import re

from agnostics.types.code_extraction import strip_reasoning

_BOX = re.compile(r"\\boxed(?![A-Za-z])")
_GROUP = re.compile(r"\s*\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
"""A brace, or an escaped character, which opens and closes nothing."""


def final_answer(completion: str) -> str | None:
    r"""The final answer of a completion, or None (arXiv 2510.02387, section 5.3.4).

    It is the text in braces after `\boxed`, of which there must be exactly one after the model's reasoning. A box that
    is blank or never closed holds no answer. The time is linear in the length of the completion.
    """
    text = strip_reasoning(completion)
    boxes = [match.end() for match in _BOX.finditer(text)]
    return _group_at(text, boxes[0]) if len(boxes) == 1 else None


def _group_at(text: str, start: int) -> str | None:
    """The text between the braces that open at `start`, without surrounding white space; None if it is blank."""
    opening = _GROUP.match(text, start)
    depth = 1
    for brace in _BRACE.finditer(text, opening.end()) if opening else ():
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if opening and not depth:
            return text[opening.end() : brace.start()].strip() or None
    return None
