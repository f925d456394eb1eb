"""The form in which a model calls tools."""

from __future__ import annotations

from typing import Literal

CallForm = Literal["text", "qwen", "llama", "mistral", "mistral_list"]
"""`<tool: NAME>` with a text, as the Code World Model (section 17), or JSON in the marks of a family of models.

`mistral_list` is the form of Mistral before version 11 of its tokenizer.
"""
_TEXT_MARKS = ("<tool: ", "'tool: '")
_LLAMA_MARKS = ("<|python_tag|>", "ipython")


def form_of(chat_template: str) -> CallForm:
    """The form for a model with this chat template: that of Qwen, Llama or Mistral if it has their marks."""
    if any(mark in chat_template for mark in _TEXT_MARKS):
        return "text"
    if "<tool_call>" in chat_template:
        return "qwen"
    if "[TOOL_CALLS]" in chat_template:
        return "mistral" if "[ARGS]" in chat_template else "mistral_list"
    return "llama" if any(mark in chat_template for mark in _LLAMA_MARKS) else "text"
