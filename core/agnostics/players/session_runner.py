"""Runs an agent session: opens what the player needs, lets it play, and ends the session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from sqlalchemy import URL

from agnostics.gateway.conversation import ModelBackend
from agnostics.players.box import Box
from agnostics.players.player import Game, Player
from agnostics.players.workspace import keep_workspace
from agnostics.referee.prompt import session_prompt
from agnostics.referee.referee import Referee
from agnostics.referee.state import SessionState
from agnostics.sandbox.modes import AUTO, Backends
from agnostics.store.store import Store
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.util.locks import file_lock
from agnostics.util.paths import state_folder
from agnostics.verify import Verifier


def play_session(
    store: Store,
    name: str,
    player: Player,
    language: Language,
    verifier: Verifier,
    *,
    backend: ModelBackend | None = None,
    sandbox: str = AUTO,
    backends: Backends | None = None,
    on_event: Callable[[SessionState], None] = lambda _: None,
) -> SessionState:
    """Let `player` play the session called `name` from where it stands, and return its last state.

    `backend` is the model of this machine that the player asks, if it asks one; `sandbox` and `backends` are those of
    the player's box. Raises UsageError if the session has finished, or if another process of this machine plays it.
    What the player raises leaves the session to be resumed.
    """
    folder = session_folder(store.engine.url, name)
    with file_lock(folder / "lock") as is_ours:
        if not is_ours:
            raise UsageError(f"the session {name!r} is being played by another process")
        referee = Referee(store, name, verifier, language, on_event)
        if referee.state.finished:
            raise finished_error(name)
        if referee.state.sequence == 0:
            (folder / "workspace.tar").unlink(missing_ok=True)  # of a session in a database that was deleted
        if not referee.state.all_done:
            with (
                _box(player, referee, language, sandbox, backends) as box,
                keep_workspace(box, folder / "workspace.tar") as save_workspace,
            ):
                player.play(
                    Game(
                        referee=referee,
                        language=language,
                        prompt=session_prompt(language, referee.state.protocol, referee.problems),
                        store=store,
                        box=box.session if box else None,
                        folder=box.folder if box else None,
                        save_workspace=save_workspace,
                        model=referee.model,
                        backend=backend,
                    )
                )
        referee.finish("completed" if referee.state.all_done else "stopped")
        return referee.state


def finished_error(name: str) -> UsageError:
    """The error for the session called `name`, which has finished and cannot be resumed."""
    return UsageError(f"the session {name!r} has finished; see it with: agn session export {name}")


def session_folder(url: URL, name: str) -> Path:
    """The folder of a session of the database at `url`: its lock, and its workspace."""
    if url.get_backend_name() == "sqlite":
        url = url.set(database=str(Path(str(url.database)).resolve()))
    database = hashlib.sha256(url.render_as_string().encode()).hexdigest()[:12]
    return state_folder() / "sessions" / database / name


def _box(
    player: Player, referee: Referee, language: Language, sandbox: str, backends: Backends | None
) -> AbstractContextManager[Box | None]:
    """The player's box, if it needs one."""
    if not player.needs_box:
        return nullcontext()
    return Box(
        referee,
        language,
        referee.state.protocol,
        sandbox=sandbox,
        backends=backends,
        mounts=player.mounts(),
        agent_language=player.agent_language,
    )
