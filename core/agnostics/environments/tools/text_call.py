"""Calls as `<tool: NAME>`, a text and `</tool>`, each tag on a line of its own."""

from __future__ import annotations

from collections.abc import Iterator

from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError

OPEN, _CLOSE = "<tool:", "</tool>"


def text_calls(text: str) -> Iterator[RawCall | ArgumentError]:
    """The calls in a message without reasoning, and the reasons why others are none."""
    lines = iter(text.split("\n"))
    for line in lines:
        tag = line.rstrip()
        if tag.startswith(OPEN):
            yield _call(tag, lines)
        elif tag == _CLOSE:
            yield ArgumentError(f"there is a line '{_CLOSE}' without a '<tool: NAME>' before it")


def _call(tag: str, lines: Iterator[str]) -> RawCall | ArgumentError:
    """The call that begins with the line `tag`; takes its lines from those that follow."""
    if tag.find(">") != len(tag) - 1:
        return ArgumentError(f"write '<tool: NAME>', the content and '{_CLOSE}' on lines of their own")
    content = list[str]()
    for line in lines:
        if line.rstrip() == _CLOSE:
            return _raw_call(tag, "\n".join(content))
        content.append(line)
    return ArgumentError(f"the call is not closed; end it with a line '{_CLOSE}'")


def _raw_call(tag: str, content: str) -> RawCall:
    return RawCall(tag[len(OPEN) : -1].strip(), lambda tool: tool.arguments_of(content))
