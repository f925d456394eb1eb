"""Coding agents as players of agent sessions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agnostics import hookimpl

if TYPE_CHECKING:
    from agnostics import Player

AGN_CONTRACT = 2


@hookimpl
def agn_players() -> Iterable[Player]:
    """The agents of this distribution; imported when a player is looked up."""
    from agnostics_players.aider import Aider
    from agnostics_players.claude_code import ClaudeCode
    from agnostics_players.codex import Codex
    from agnostics_players.mini_swe_agent import MiniSweAgent
    from agnostics_players.opencode import OpenCode
    from agnostics_players.pi import Pi
    from agnostics_players.qwen_code import QwenCode

    return [Aider(), ClaudeCode(), Codex(), MiniSweAgent(), OpenCode(), Pi(), QwenCode()]
