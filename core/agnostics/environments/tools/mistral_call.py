"""The calls of Mistral: `[TOOL_CALLS]NAME[ARGS]{...}`, one after another; before its tokenizer v11, a list."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agnostics.environments.tools.json_call import call_of, json_calls, read_json
from agnostics.environments.tools.qwen_call import OPEN as QWEN_OPEN
from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.tool import ArgumentError

SPECIAL_TOKENS = ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")
"""The marks of calls, which the text of a completion keeps."""
MARK = SPECIAL_TOKENS[0]
_OPENING = re.compile(r"\A\[TOOL_CALLS\]|\[TOOL_CALLS\](?=\w|\s*+[\[{])")
"""A mark that begins calls: within a message, one before a name or JSON, else a text speaks of it."""
_HEAD = re.compile(r"\s*+\[TOOL_CALLS\](?P<name>[^\[{]*+)(?:\[CALL_ID\][^\[{]*+)?(?P<args>\[ARGS\]\s*+)?")
_LIST = re.compile(r'\[\s*+\{\s*+"(?:name"|type"\s*+:\s*+"function")')
"""The beginning of a list of calls from an endpoint that takes special tokens away; any other list is an answer."""
_FORM = "[TOOL_CALLS]NAME[ARGS]{...}"


def mistral_calls(text: str) -> list[RawCall | ArgumentError]:
    """The calls at the end of a message without reasoning, and the reasons why others are none."""
    message = text.strip()
    if _LIST.match(message):
        return list(json_calls(message))
    opening = _OPENING.search(message)
    if opening is None or QWEN_OPEN in message[: opening.start()]:  # the mark may stand in a string of Qwen's call
        return []
    calls = message[opening.start() :]
    objects = calls.removeprefix(MARK).lstrip()
    return list(json_calls(objects) if objects.startswith(("[", "{")) else _named_calls(calls))


def _named_calls(text: str) -> Iterator[RawCall | ArgumentError]:
    """The calls in a text of calls with a mark each; what is none ends them, because its own end is not known."""
    at = 0
    try:
        while at < len(text):
            name, at = _head(text, at)
            arguments, at = read_json(text, at)
            yield call_of(name, arguments)
    except ArgumentError as error:
        yield error


def _head(text: str, at: int) -> tuple[str, int]:
    """The name in the call at `at`, and where its arguments begin. Raises ArgumentError."""
    head = _HEAD.match(text, at)
    if head is None:
        raise ArgumentError(f"after a call there may be other calls only, as {_FORM}")
    if not head["args"]:
        raise ArgumentError(f"the call has no '[ARGS]' after its name; write {_FORM}")
    return head["name"].strip(), head.end()
