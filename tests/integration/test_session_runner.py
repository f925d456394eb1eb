"""The runner of sessions, with players of one's own: the box, the workspace that outlives a process, the end."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_sessions import COPY, create, task
from agnostics import Game, Player, SessionPool
from agnostics.players.session_runner import play_session, session_folder
from agnostics.plugins.manager import load_plugins
from agnostics.referee.session_rows import find_session, read_events
from agnostics.referee.state import SessionState
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.verify import Verifier

LANGUAGE: Language = load_plugins().language("brainfuck")
PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
Play = Callable[[Player], SessionState]


@pytest.fixture(scope="module")
def pool() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1) as verifier:
        yield verifier


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Store.open(str(tmp_path / "results.db")) as opened:
        create(opened, "one", (task("E01"), task("M01")), submissions=2)
        yield opened


@pytest.fixture
def play(store: Store, pool: Verifier) -> Play:
    """Lets a player play the session."""
    return lambda player: play_session(store, "one", player, LANGUAGE, pool, sandbox="bubblewrap")


class Boxed(Player):
    """Keeps its notes in the box, and fails after each problem."""

    name = "boxed"
    description = "a test"

    def __init__(self) -> None:
        self.notes = list[str]()
        self.prompt = ""

    def play(self, game: Game) -> None:
        assert game.box is not None
        self.prompt = game.prompt
        problem = game.referee.fetch().data["problem"]
        game.box.exec(["sh", "-c", f"echo {problem} >> notes; echo unsaved > $TMPDIR/x"])
        game.save_workspace()
        game.box.exec(["sh", "-c", "echo lost >> notes"])
        self.notes.append(game.box.get("notes").decode())
        game.referee.submit(problem, COPY)
        if not game.referee.state.all_done:
            raise RuntimeError("the player failed")


def test_a_session_whose_player_fails_is_resumed_with_the_workspace_that_was_stored(store: Store, play: Play) -> None:
    player = Boxed()
    with pytest.raises(RuntimeError, match="the player failed"):
        play(player)
    with reading(store.engine) as connection:
        assert find_session(connection, "one").finished_at is None
    state = play(player)
    assert player.notes == ["E01\nlost\n", "E01\nM01\nlost\n"]
    assert (state.solved, state.finished) == (2, True)
    assert "# 2 problems in brainfuck" in player.prompt
    with pytest.raises(UsageError, match="has finished"):
        play(player)


def test_a_new_session_does_not_begin_with_the_workspace_of_an_old_database(store: Store, play: Play) -> None:
    with SessionPool(LANGUAGE, "bubblewrap") as boxes, boxes.open() as box:
        box.put({"notes": b"old\n"})
        snapshot = box.snapshot()
    folder = session_folder(store.engine.url, "one")
    folder.mkdir(parents=True)
    (folder / "workspace.tar").write_bytes(snapshot)
    player = Boxed()
    with pytest.raises(RuntimeError, match="the player failed"):
        play(player)
    assert player.notes == ["E01\nlost\n"]


class LongCommand(Player):
    """One command of the shell, as an agent's, which nobody saves the files of."""

    name = "long-command"
    description = "a test"

    def __init__(self, script: str) -> None:
        self.script = script
        self.found = ""

    def play(self, game: Game) -> None:
        assert game.box is not None
        self.found = game.box.exec(["sh", "-c", "find . -type f | sort | xargs -r cat"]).stdout.decode()
        game.box.exec(["sh", "-c", f"session fetch; {self.script}"])
        raise RuntimeError("the player failed")


SUBMIT = f"mkdir -p notes; cd notes; echo kept > kept; printf '%s' '{COPY}' > a.bf; session submit E01 a.bf"


@pytest.fixture
def found_after(play: Play) -> Callable[[str], str]:
    """Plays a session with a command that fails, and gives what a resumed one finds in its workspace."""

    def play_twice(script: str) -> str:
        for player in (LongCommand(script), second := LongCommand(":")):
            with pytest.raises(RuntimeError):
                play(player)
        return second.found

    return play_twice


def test_the_workspace_of_a_command_that_goes_on_is_stored_at_each_submission(
    found_after: Callable[[str], str],
) -> None:
    assert found_after(f"{SUBMIT}; echo lost > lost") == f"{COPY}kept\n"


@pytest.mark.parametrize(
    "attack",
    [
        "perl -e '{talk} print $s $key, q(x) x 99'",  # torn
        "perl -e '{talk} print $s q(y) x 32, q(x) x 1024, q(whole)'",  # without the key
        "perl -e '{talk} print $s $key, q(x) x 65536 for 1 .. 1100; print $s q(whole)'",  # too large
        "perl -e '{talk} sleep 600' & sleep 1",
    ],
)
def test_what_is_no_archive_replaces_none(attack: str, found_after: Callable[[str], str]) -> None:
    talk = (
        'use Socket; $SIG{PIPE} = "IGNORE"; open(F, "/session/key"); $key = <F>; chomp $key; socket($s, 1, 1, 0); '
        'connect($s, pack_sockaddr_un("/session/workspace")) or die; $s->autoflush;'
    )
    assert found_after(f"{SUBMIT}; {attack.replace('{talk}', talk)}") == f"{COPY}kept\n"


def test_an_archive_that_cannot_be_read_costs_its_own_session_its_files_alone(
    found_after: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    talk = 'use Socket; open(F, "/session/key"); $key = <F>; chomp $key; socket($s, 1, 1, 0);'
    sends = f"{talk} connect($s, pack_sockaddr_un(q(/session/workspace))); print $s $key, q(x) x 2000, q(whole)"
    assert found_after(f"{SUBMIT}; sleep 1; perl -e '{sends}'; sleep 1") == ""
    assert "goes on without the files of its workspace" in caplog.text


KILLED = """
import sys
from agnostics import Player
from agnostics.players.session_runner import play_session
from agnostics.plugins.manager import load_plugins
from agnostics.store import Store
from agnostics.verify import Verifier

class LongCommand(Player):
    name, description = "long-command", "a test"
    def play(self, game):
        game.box.exec(["sh", "-c", sys.argv[2]])

with Store.open(sys.argv[1]) as store, Verifier("bubblewrap", 1) as verifier:
    play_session(store, "one", LongCommand(), load_plugins().language("brainfuck"), verifier, sandbox="bubblewrap")
"""


def test_kill_9_loses_nothing_that_was_in_the_workspace_at_the_last_submission(store: Store, play: Play) -> None:
    script = f"session fetch; {SUBMIT}; echo lost > lost; sleep 600"
    database = str(store.engine.url.database)
    with subprocess.Popen([sys.executable, "-c", KILLED, database, script]) as process:
        deadline = time.monotonic() + 120
        while not _submissions(store) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    assert _submissions(store) == 1
    resumed = LongCommand(":")
    with pytest.raises(RuntimeError):
        play(resumed)
    assert resumed.found == f"{COPY}kept\n"


def _submissions(store: Store) -> int:
    with reading(store.engine) as connection:
        session = find_session(connection, "one")
        return [event.kind for event in read_events(connection, session.id)].count("submit")


class Idle(Player):
    """Stops at once."""

    name = "idle"
    description = "a test"
    needs_box = False

    def play(self, game: Game) -> None:
        assert game.box is None


def test_a_player_that_stops_ends_its_session(play: Play) -> None:
    state = play(Idle())
    assert (state.finished, state.all_done) == (True, False)


def test_a_session_that_was_killed_before_its_end_was_recorded_ends_without_its_player(
    play: Play,
) -> None:
    class Killed(Idle):
        def play(self, game: Game) -> None:
            for problem in ("E01", "M01"):
                game.referee.fetch()
                game.referee.submit(problem, COPY)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(Killed())
    assert play(Killed()).finished


def test_the_player_of_the_plugins_page_plays_a_session(play: Play) -> None:
    (source,) = re.findall(r"^`agnostics_example/player.py`\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    module: dict[str, object] = {"__name__": "agnostics_example_player"}
    exec(compile(source, "player.py", "exec", dont_inherit=True), module)
    (player,) = module["agn_players"]()  # type: ignore[operator]
    assert isinstance(player, Player)
    state = play(player)
    assert (state.solved, [problem.runs for problem in state.problems]) == (2, [1, 1])
