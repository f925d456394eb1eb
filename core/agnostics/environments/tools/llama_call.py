"""The calls of Llama 3: `{"name": ..., "parameters": {...}}` as the whole message, one after another."""

from __future__ import annotations

import re

from agnostics.environments.tools.json_call import json_calls
from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError

_MARK = "<|python_tag|>"
"""What may stand before the calls; as a special token it is in no text."""
_CALL = re.compile(r'\{\s*+"(?:name"|type"\s*+:\s*+"function")')
"""The beginning of a call, which tells it from an answer that is a JSON object."""


def llama_calls(text: str) -> list[RawCall | ArgumentError]:
    """The calls in a message without reasoning, and the reasons why others are none."""
    message = text.strip()
    if message.startswith(_MARK) or _CALL.match(message):
        return list(json_calls(message.removeprefix(_MARK).lstrip()))
    return []
