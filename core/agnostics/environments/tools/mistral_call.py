"""The calls of Mistral: `[TOOL_CALLS]` and a list, `[{"name": ..., "arguments": {...}}]`, as the whole message."""

from __future__ import annotations

import re

from agnostics.environments.tools.json_call import json_calls
from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError

_MARK = "[TOOL_CALLS]"
"""What stands before the list; as a special token it is in no text."""
_LIST = re.compile(r'\[\s*+\{\s*+"(?:name"|type"\s*+:\s*+"function")')
"""The beginning of a list of calls, which tells it from an answer that is a list."""


def mistral_calls(text: str) -> list[RawCall | ArgumentError]:
    """The calls in a message without reasoning, and the reasons why others are none."""
    message = text.strip()
    if message.startswith(_MARK) or _LIST.match(message):
        return list(json_calls(message.removeprefix(_MARK).lstrip()))
    return []
