"""The calls of Qwen and Hermes: a JSON object in `<tool_call>` tags; Qwen 2.5 Coder often writes a block of code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agnostics.environments.tools.json_call import one_json_call
from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError

OPEN = "<tool_call>"
_CLOSE = "</tool_call>"
_FENCED_CALL = re.compile(r'```(?:json)?[ \t]*+\n\s*+(\{\s*+"name".*?)\n[ \t]*+```', re.DOTALL)
"""A call in a block of code at the beginning of a message."""


def qwen_calls(text: str) -> Iterator[RawCall | ArgumentError]:
    """The calls in a message without reasoning, and the reasons why others are none."""
    if fenced := _FENCED_CALL.match(text.strip()):
        yield one_json_call(fenced[1])
        return
    lines = iter(text.split("\n"))
    for line in lines:
        before, opening, rest = line.strip().partition(OPEN)
        if opening and (not before or rest.lstrip()[:1] in ("", "{")):  # else a text speaks of the tag
            yield _tagged_call(rest, lines)
        elif line.strip() == _CLOSE:
            yield ArgumentError(f"there is a '{_CLOSE}' without a '{OPEN}' before it")


def _tagged_call(line: str, lines: Iterator[str]) -> RawCall | ArgumentError:
    """The call that begins with `line`. A tag that ends a line is in no JSON string, which holds no line feed."""
    content = list[str]()
    while not line.rstrip().endswith(_CLOSE):
        content.append(line)
        following = next(lines, None)
        if following is None:
            return ArgumentError(f"the call is not closed; end it with '{_CLOSE}'")
        line = following
    return one_json_call("\n".join([*content, line.rstrip().removesuffix(_CLOSE)]))
