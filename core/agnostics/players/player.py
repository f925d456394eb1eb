"""The player of an agent session: its interface, and what it is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agnostics.gateway.conversation import ModelBackend
    from agnostics.referee.referee import Referee
    from agnostics.sandbox.session import Session
    from agnostics.sandbox.slot_options import Mount
    from agnostics.store.store import Store
    from agnostics.types.language import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """What a player is given for a session."""

    referee: Referee
    language: Language
    prompt: str
    """The rules of the session and the language's reference card, for a model (`agnostics.referee.prompt`)."""
    store: Store
    """The results database."""
    box: Session | None
    """The sandbox in which the player's commands run; None for a player that needs none."""
    folder: Path | None
    """The folder of this machine that the box shows as `/session`: a socket that is made in it can be connected to."""
    save_workspace: Callable[[], None]
    """Store the files of the box, from which a resumed session begins; call it between two commands."""
    model: str = ""
    """The model that the player asks; empty if none was named."""
    backend: ModelBackend | None = None
    """The model of this machine that the player asks, loaded; None if its model is elsewhere."""


class Player(ABC):
    """What plays agent sessions, registered through `agn_players` and chosen by its name.

    A dataclass, whose fields are the options that `--set` gives. One object plays one session after another.
    """

    name: str
    description: str
    model: str = ""
    """The name of the model that it asks; empty if it asks none."""
    needs_box: bool = True
    """Whether its commands need a sandbox."""

    def check_requirements(self) -> None:  # noqa: B027
        """Raise MissingRequirement if something is missing; called before anything starts."""

    @property
    def agent_language(self) -> str | None:
        """The programming language of what it mounts, which a protocol may forbid in the box."""
        return None

    @property
    def is_installed(self) -> bool:
        """Whether it has what `install` installs."""
        return True

    def install(self) -> None:  # noqa: B027
        """Install what it needs from elsewhere, if anything. Raises AgnosticsError if that fails."""

    def mounts(self) -> Sequence[Mount]:
        """The folders of this machine that its commands need in the box, such as those of an agent."""
        return ()

    @abstractmethod
    def play(self, game: Game) -> None:
        """Play until every problem is final, or until the player stops; a session that was interrupted goes on.

        The referee's state says what was done before. An exception leaves the session unfinished, to be resumed.
        """
