"""`agn session`: a replay through the whole path, what is refused, and a session that is killed again and again."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_sessions import COPY, FIRST, INVALID, LOOP, without_times, write_programs, write_tasks
from agnostics.players.session_runner import session_folder
from agnostics.referee.session_rows import find_session, read_events
from agnostics.store import Store, schema
from agnostics.store.database import parse_url, reading, writing
from agnostics.types.errors import UsageError
from agnostics.util.locks import file_lock
from command_line import Agn
from sqlalchemy import update

NAMES = ("E01", "E02", "E03", "M01", "M02", "M03")
PROGRAMS = [
    ("E01", FIRST, ["ab", ""]),
    ("E01", COPY, ["ab"]),
    ("E02", COPY, []),
    ("E03", INVALID, ["x"]),
    ("E03", FIRST, []),
    ("E03", LOOP, []),
    ("M01", COPY, ["y"] * 5),
    ("M02", FIRST, []),
    ("M02", FIRST, ["z"]),
    ("M02", COPY, []),
    ("M03", COPY, ["\u00e9\x1b"]),
]
SOLVED = 5


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set and recorded programs in the current folder, and a home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_tasks(tmp_path / "tasks.jsonl", NAMES)
    write_programs(tmp_path / "programs.jsonl", PROGRAMS)


NEW = ("--language", "brainfuck", "--player", "replay", "--dataset", "tasks.jsonl")
REPLAY = (*NEW, "--set", "programs=programs.jsonl")
WHERE = ("--sandbox", "bubblewrap", "--store", "results.db")


def change_session(name: str, **values: Any) -> None:
    session = schema.agent_session
    with Store.open("sqlite:///results.db") as store, writing(store.engine) as connection:
        connection.execute(update(session).where(session.c.name == name).values(**values))


def exported(agn: Agn, name: str, store: str = "results.db") -> dict[str, Any]:
    export: dict[str, Any] = agn("session", "export", name, "--store", store).json
    return export


def test_a_replay_goes_through_the_whole_path(agn: Agn) -> None:
    answer = agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--protocol", "primary", "--json")
    assert (answer.returncode, answer.stdout.count("\n")) == (0, 1)
    assert answer.json == {"session": "one", "solved": SOLVED, "problems": 6, "complete": True}
    assert answer.stderr.splitlines()[:2] == [
        "session one",
        "problem 1/6  E01 (easy): solved, 2 submissions, 3 runs  1 solved",
    ]
    export = exported(agn, "one")
    assert {name: one["status"] for name, one in export["problems"].items()} == {
        **dict.fromkeys(NAMES, "solved"),
        "E03": "failed",
    }
    assert export["protocol"]["name"] == "primary"
    (row,) = agn("session", "status", "--store", "results.db", "--json").json
    assert (row["session"], row["solved"], row["problems"], row["state"]) == ("one", SOLVED, 6, "completed")
    assert agn("session", "status", "one", "--store", "results.db", "--json").json == export
    table = agn("session", "status", "one", "--store", "results.db").stdout
    assert "one: 5 of 6 solved, completed" in table
    assert "0/3, 1/3, 0/3" in table


def test_a_session_can_be_replayed_from_the_database(agn: Agn) -> None:
    assert agn("session", "run", *REPLAY, *WHERE, "--name", "one").returncode == 0
    again = agn("session", "run", *NEW, "--set", "session=one", *WHERE, "--name", "two")
    assert again.stdout == "two: 5 of 6 problems solved\n"
    one, two = (without_times(exported(agn, name)) for name in ("one", "two"))
    assert one.pop("player_options") != two.pop("player_options")
    assert one == two


def test_a_protocol_of_ones_own_decides_what_a_replay_may_do(agn: Agn, tmp_path: Path) -> None:
    (tmp_path / "strict.yaml").write_text("submissions: 1\nruns: 1\nskip: always\n")
    answer = agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--protocol", "strict.yaml")
    assert answer.stdout == "one: 3 of 6 problems solved\n"
    problems = exported(agn, "one")["problems"]
    assert {name: one["runs"] for name, one in problems.items()} == {
        "E01": 1,
        "E02": 0,
        "E03": 1,
        "M01": 1,
        "M02": 0,
        "M03": 1,
    }
    assert {len(one["submissions"]) for one in problems.values()} == {1}


@pytest.mark.parametrize(("skip", "end"), [("always", "completed"), ("never", "stopped")])
def test_a_replay_without_a_program_skips_a_problem_or_ends_there(
    agn: Agn, tmp_path: Path, skip: str, end: str
) -> None:
    (tmp_path / "own.yaml").write_text(f"skip: {skip}\n")
    write_programs(tmp_path / "programs.jsonl", [line for line in PROGRAMS if line[0] != "E02"])
    answer = agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--protocol", "own.yaml", "--limit", "3")
    export = exported(agn, "one")
    statuses = [one["status"] for one in export["problems"].values()]
    if end == "completed":
        assert answer.stdout == "one: 1 of 3 problems solved\n"
        assert statuses == ["solved", "skipped", "failed"]
    else:
        assert answer.stdout == "one: 1 of 3 problems solved; the player stopped before the end\n"
        assert statuses == ["solved", "active", "pending"]
    assert (export["end"], export["complete"]) == (end, end == "completed")


def test_an_export_is_written_to_a_file_that_is_not_there(agn: Agn, tmp_path: Path) -> None:
    agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--limit", "1")
    command = ("session", "export", "one", "--store", "results.db", "-o", "one.json")
    assert agn(*command).returncode == 0
    assert json.loads((tmp_path / "one.json").read_text()) == exported(agn, "one")
    assert "already there" in agn(*command).complaint
    assert agn(*command, "--force").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--player", "replay", "--dataset", "tasks.jsonl"), "--language is missing"),
        ((*NEW[:4],), "--dataset is missing"),
        ((*REPLAY, "--protocol", "primry"), "unknown protocol 'primry'; did you mean 'primary'?"),
        ((*REPLAY, "--player", "replai"), "unknown player 'replai'; did you mean 'replay'?"),
        ((*REPLAY, "--split", "tset"), "unknown split 'tset'; did you mean 'test'?"),
        ((*REPLAY, "--split", "validation"), "has no problems in this split"),
        ((*REPLAY, "--reseal", "0"), "cannot make fresh tests (task"),
        ((*REPLAY, "--name", "Not a name"), "--name 'Not a name'"),
        ((*NEW, "--set", "programs=none.jsonl"), "none.jsonl: No such file or directory"),
        ((*NEW,), "needs either --set programs=FILE or --set session=NAME"),
        (("--resume", "one", "--protocol", "primary"), "--resume uses the session's own settings"),
        (("--resume", "one", "--reseal", "0"), "--resume uses the session's own settings"),
    ],
)
def test_a_misuse_is_one_line_and_makes_no_session(agn: Agn, arguments: tuple[str, ...], complaint: str) -> None:
    answer = agn("session", "run", *arguments, *WHERE)
    assert answer.returncode == 2
    assert complaint in answer.complaint
    if Path("results.db").exists():
        assert agn("session", "status", "--store", "results.db", "--json").json == []


def test_a_finished_session_an_unknown_one_and_one_that_is_played_are_not_resumed(agn: Agn, tmp_path: Path) -> None:
    agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--limit", "1")
    assert (
        "has finished; see it with: agn session export one"
        in agn("session", "run", "--resume", "one", *WHERE).complaint
    )
    assert "did you mean 'one'?" in agn("session", "run", "--resume", "ones", *WHERE).complaint
    assert "already" in agn("session", "run", *REPLAY, *WHERE, "--name", "one").complaint
    change_session("one", finished_at=None)
    folder = session_folder(parse_url(str(tmp_path / "results.db")), "one")
    with file_lock(folder / "lock") as is_ours:
        assert is_ours
        complaint = agn("session", "run", "--resume", "one", *WHERE).complaint
    assert "the session 'one' is being played by another process" in complaint


def test_the_model_of_a_finished_session_is_not_loaded(agn: Agn) -> None:
    agn("session", "run", *REPLAY, *WHERE, "--name", "one", "--limit", "1")
    change_session("one", player="bare", player_options={"model": "/no-such.gguf", "engine": "transformers"})
    assert "has finished" in agn("session", "run", "--resume", "one", *WHERE).complaint


def test_sessions_of_two_databases_have_folders_of_their_own(tmp_path: Path) -> None:
    urls = [parse_url(str(tmp_path / name)) for name in ("a.db", "b.db")]
    assert len({session_folder(url, "one") for url in urls}) == 2
    assert session_folder(parse_url("a.db"), "one") == session_folder(urls[0], "one")


class Played:
    """A session that is played by processes which are killed at random moments."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.at_kills = list[int]()
        """The number of events after each kill."""
        self._random = random.Random(seed)

    def play(self, kills: int) -> None:
        for number in range(kills):
            with self._process(*(("--resume", "killed") if number else (*REPLAY, "--name", "killed"))) as process:
                self._await_events(self._events() + self._random.randrange(5))
                time.sleep(self._random.uniform(0, 0.02))
                process.kill()
                assert process.wait(60) == -signal.SIGKILL
            self.at_kills.append(self._events())
        with self._process("--resume", "killed") as process:
            assert process.wait(120) == 0

    @contextmanager
    def _process(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A process that plays the session, once it has begun."""
        agn = [sys.executable, "-c", "from agnostics.cli import main; main()", "session", "run"]
        url = self.store.engine.url.render_as_string(hide_password=False)
        command = [*agn, *arguments, "--sandbox", "bubblewrap", "--store", url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == "session killed\n"
            yield process

    def _await_events(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while self._events() < count:
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def _events(self) -> int:
        with reading(self.store.engine) as connection:
            return len(read_events(connection, find_session(connection, "killed").id))


def longer(tmp_path: Path) -> None:
    """More to play, so that it takes some seconds."""
    programs = [(problem, program, [*inputs, *map(str, range(6))]) for problem, program, inputs in PROGRAMS]
    write_programs(tmp_path / "programs.jsonl", programs)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_a_session_that_was_killed_again_and_again_ends_as_an_undisturbed_one(
    agn: Agn, tmp_path: Path, database: str, kills: int
) -> None:
    longer(tmp_path)
    undisturbed = agn("session", "run", *REPLAY, "--sandbox", "bubblewrap", "--store", database, "--name", "one")
    assert undisturbed.returncode == 0
    with Store.open(database) as store:
        played = Played(store, seed=kills)
        played.play(kills)
    one, killed = (without_times(exported(agn, name, database)) for name in ("one", "killed"))
    assert killed == one
    assert played.at_kills == sorted(played.at_kills)
    assert played.at_kills[-1] < sum(1 + len(inputs) for _, _, inputs in PROGRAMS) + 6 * len(PROGRAMS)


def test_a_lock_that_is_free_again_is_taken(tmp_path: Path) -> None:
    for _ in range(2):
        with file_lock(tmp_path / "folder" / "lock") as is_ours:
            assert is_ours
    with pytest.raises(UsageError), file_lock(tmp_path / "lock"):
        raise UsageError("x")
