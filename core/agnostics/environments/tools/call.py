"""The calls of tools in what a model writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agnostics.environments.tools.form import CallForm
from agnostics.environments.tools.llama_call import llama_calls
from agnostics.environments.tools.mistral_call import MARK, mistral_calls
from agnostics.environments.tools.qwen_call import OPEN as QWEN_OPEN
from agnostics.environments.tools.qwen_call import qwen_calls
from agnostics.environments.tools.raw_call import RawCall
from agnostics.environments.tools.text_call import OPEN as TEXT_OPEN
from agnostics.environments.tools.text_call import text_calls
from agnostics.environments.tools.tool import ArgumentError, ToolInterface, shown
from agnostics.types.code_extraction import strip_reasoning

_JSON_OPENINGS = (QWEN_OPEN, MARK)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that exists, with the arguments that it takes: Unicode without NUL."""

    name: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """What was meant as a call and is none. The reason is a sentence for the model."""

    reason: str


def parse_calls(text: str, form: CallForm, tools: Sequence[ToolInterface]) -> list[ToolCall | MalformedCall]:
    """The calls in a completion, in order, without those in its reasoning.

    A call begins with an opening tag at the start of a line (in JSON, also within one, where an object or the end of
    the line follows) and ends with a closing tag at the end of one. Llama's calls, objects without tags, are the whole
    message, and Mistral's its end; a call of Qwen may also be a block of code, with which the message begins. Takes
    time linear in the text.
    """
    return [resolve_call(raw, tools) for raw in raw_calls(strip_reasoning(text), form)]


def raw_calls(answer: str, form: CallForm) -> Iterable[RawCall | ArgumentError]:
    """As `parse_calls`, of an answer without reasoning, before their tools are known.

    In JSON they may be in the form of any family; that whose mark comes first is read.
    """
    if form == "text":
        return text_calls(answer)
    return llama_calls(answer) or mistral_calls(answer) or qwen_calls(answer)


def text_before_calls(answer: str, form: CallForm) -> str:
    """The text before the first call of an answer that has one; Llama's calls are the whole message."""
    marks = (TEXT_OPEN,) if form == "text" else _JSON_OPENINGS
    places = [place for mark in marks if (place := answer.find(mark)) >= 0]
    return answer[: min(places)].rstrip() if places else ""


def resolve_call(raw: RawCall | ArgumentError, tools: Sequence[ToolInterface]) -> ToolCall | MalformedCall:
    """A call of one of `tools` with the arguments that it takes, or the reason why it is none."""
    if isinstance(raw, ArgumentError):
        return MalformedCall(str(raw))
    tool = next((tool for tool in tools if tool.name == raw.name), None)
    if tool is None:
        known = ", ".join(sorted(tool.name for tool in tools))
        return MalformedCall(f"there is no tool {shown(raw.name)}; the tools are: {known}")
    try:
        return ToolCall(tool.name, _checked(raw.arguments_for(tool)))
    except ArgumentError as error:
        return MalformedCall(f"{tool.name}: {error}")


def _checked(arguments: Mapping[str, str]) -> Mapping[str, str]:
    """The arguments, if a command can have them. Raises ArgumentError."""
    for name, value in arguments.items():
        if "\0" in value or not _is_unicode(value):
            raise ArgumentError(f"the argument '{name}' holds a NUL or half of a surrogate pair")
    return arguments


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
