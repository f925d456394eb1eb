"""A call as it stands in a text, before its tool is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agnostics.environments.tools.tool import ToolInterface


@dataclass(frozen=True, slots=True)
class RawCall:
    """The name in a call, and what makes the rest a tool's arguments, or raises ArgumentError."""

    name: str
    arguments_for: Callable[[ToolInterface], Mapping[str, str]]
