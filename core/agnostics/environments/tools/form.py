"""The form in which a model calls tools."""

from __future__ import annotations

from typing import Literal

CallForm = Literal["text", "json"]
"""`<tool: NAME>` with a text, as the Code World Model (section 17), or JSON in the marks of Qwen, Llama or Mistral."""
_TEXT_MARKS = ("<tool: ", "'tool: '")
_JSON_MARKS = ("<tool_call>", "<|python_tag|>", "ipython", "[TOOL_CALLS]")


def form_of(chat_template: str) -> CallForm:
    """The form for a model with this chat template: JSON if it knows the marks of Qwen, Llama or Mistral."""
    if any(mark in chat_template for mark in _TEXT_MARKS):
        return "text"
    return "json" if any(mark in chat_template for mark in _JSON_MARKS) else "text"
