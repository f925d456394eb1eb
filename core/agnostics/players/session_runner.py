"""Runs an agent session: opens what the player needs, lets it play, and ends the session."""

from __future__ import annotations

from collections.abc import Callable

from agnostics.players.player import Player
from agnostics.referee.state import SessionState
from agnostics.store.store import Store
from agnostics.types.language import Language
from agnostics.verify import Verifier


def play_session(
    store: Store,
    name: str,
    player: Player,
    language: Language,
    verifier: Verifier,
    on_event: Callable[[SessionState], None] = lambda _: None,
) -> SessionState:
    """Let `player` play the session called `name` from where it stands, and return its last state.

    Raises UsageError if it has finished, or if another process of this machine plays it.
    """
    raise NotImplementedError
