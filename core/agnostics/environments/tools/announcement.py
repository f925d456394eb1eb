"""The part of a system prompt that describes the tools, in the form in which the model has learnt to call them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.tool import ToolInterface

_MISTRAL_CALL = "[TOOL_CALLS]NAME[ARGS]{ARGUMENTS}"
_MISTRAL_LIST_CALL = '[TOOL_CALLS][{"name": NAME, "arguments": {ARGUMENTS}}]'


def announcement(tools: Sequence[ToolInterface], form: CallForm) -> str:
    """The part of a system prompt that describes the tools.

    In the text form it is as in section 17 of the Code World Model's paper; in JSON, what the template of Qwen 3 or of
    Llama 3.1 makes of `tools=`, or the tools in the marks of Mistral, whose template says nothing of how to call them.
    """
    return _text_announcement(tools) if form == "text" else json_announcement([tool.schema for tool in tools], form)


def json_announcement(schemas: Sequence[Mapping[str, Any]], form: CallForm) -> str:
    """As `announcement`, of tools with these schemas, to be called in JSON."""
    if form == "llama":
        return _llama_announcement(schemas)
    if form in {"mistral", "mistral_list"}:
        return _mistral_announcement(schemas, _MISTRAL_CALL if form == "mistral" else _MISTRAL_LIST_CALL)
    return _qwen_announcement(schemas)


def _text_announcement(tools: Sequence[ToolInterface]) -> str:
    described = (f"<tool: {tool.name}>\n{tool.usage}\n</tool>\n{tool.description}" for tool in tools)
    return "\n\n".join(["You have access to the following tools:", *described])


def _qwen_announcement(schemas: Sequence[Mapping[str, Any]]) -> str:
    written = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return (
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
        f"You are provided with function signatures within <tools></tools> XML tags:\n<tools>\n{written}\n</tools>\n\n"
        "For each function call, return a json object with function name and arguments within <tool_call></tool_call> "
        'XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )


def _llama_announcement(schemas: Sequence[Mapping[str, Any]]) -> str:
    written = "\n\n".join(json.dumps(schema, ensure_ascii=False, indent=4) for schema in schemas)
    return (
        "You have access to the following functions. To call a function, please respond with JSON for a function call."
        'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.'
        f"Do not use variables.\n\n{written}"
    )


def _mistral_announcement(schemas: Sequence[Mapping[str, Any]], call: str) -> str:
    written = json.dumps(list(schemas), ensure_ascii=False)
    return f"[AVAILABLE_TOOLS]{written}[/AVAILABLE_TOOLS]\n\nTo call a function, end your message with {call}"
