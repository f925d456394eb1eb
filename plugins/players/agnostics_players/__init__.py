"""Coding agents as players of agent sessions."""

from __future__ import annotations

from agnostics import Player, hookimpl

from agnostics_players.aider import Aider
from agnostics_players.claude_code import ClaudeCode
from agnostics_players.codex import Codex
from agnostics_players.mini_swe_agent import MiniSweAgent
from agnostics_players.opencode import OpenCode
from agnostics_players.pi import Pi
from agnostics_players.qwen_code import QwenCode

AGN_CONTRACT = 2


@hookimpl
def agn_players() -> list[Player]:
    """The agents of this distribution."""
    return [Aider(), ClaudeCode(), Codex(), MiniSweAgent(), OpenCode(), Pi(), QwenCode()]
