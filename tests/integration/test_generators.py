"""Players that write generators in the box, in the host language of each protocol, with its advice and its library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from agent_session import BRAINFUCK
from agnostics import Game, Player
from agnostics.players.box import Box
from agnostics.players.session_runner import play_session
from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol, load_protocol
from agnostics.referee.referee import Referee
from agnostics.referee.session_rows import create_session
from agnostics.referee.state import SessionState
from agnostics.store.store import Store
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier

WORDS = {"tulip": "tulip", "greeting": "Hello, World!"}
PROBLEMS = [
    *(Task(id=name, statement=f"Print: {word}", tests=(Test(input="", output=word),)) for name, word in WORDS.items()),
    Task(
        id="sum",
        statement="Print the sum of two numbers, neither of which is negative.",
        tests=tuple(
            Test(input=given, output=output)
            for given, output in (("1 2", "3"), ("999\n1\n", "1000"), ("0 0", "0"), ("90317 48", "90365"))
        ),
    ),
]
PYTHON = """
text = open("problem").read().split("Print: ")[1].split("\\n")[0]
print(">".join("+" * ord(one) + "." for one in text))
"""
JAVASCRIPT = """
const text = require("fs").readFileSync("problem", "utf8").split("Print: ")[1].split("\\n")[0];
console.log([...text].map((one) => "+".repeat(one.charCodeAt(0)) + ".").join(">"));
"""
RUST = """
fn main() {
    let problem = std::fs::read_to_string("problem").unwrap();
    let text = problem.split("Print: ").nth(1).unwrap().lines().next().unwrap();
    let parts: Vec<String> = text.bytes().map(|one| "+".repeat(one as usize) + ".").collect();
    println!("{}", parts.join(">"));
}
"""
LIBRARY = """
import sys
sys.path.insert(0, "reference_lib")
from bflib import Builder
bf = Builder()
left, right = bf.number("left", 6), bf.number("right", 6)
bf.read_number(left)
bf.read_number(right)
bf.add_digits(left, right)
bf.write_number(left)
print(bf.code)
"""


@dataclass
class Generating(Player):
    """Writes a generator into the box, and submits for each problem what it prints."""

    files: Mapping[str, str]
    command: str
    """How the generator is started; it reads the file `problem`."""

    name = "generating"
    description = "a test"
    prompt = ""
    notes = ""

    def play(self, game: Game) -> None:
        assert game.box is not None
        self.prompt = game.prompt
        found = game.box.exec(["sh", "-c", "cat reference_lib/README.md"])
        self.notes = found.stdout.decode()
        game.box.put({name: text.encode() for name, text in self.files.items()})
        for problem in game.referee.state.ids:
            script = (
                f"session fetch > problem && {self.command} > a.bf && session run a.bf --input '5 6' > ran && "
                f"session submit {problem} a.bf"
            )
            result = game.box.exec(["sh", "-c", script])
            assert result.exit_code == 0, result


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1, languages={"brainfuck": BRAINFUCK}) as made:
        yield made


def play(
    player: Player, protocol: Protocol, tasks: list[Task], folder: Path, verifier: Verifier, mode: str
) -> SessionState:
    with Store.open(f"sqlite:///{folder}/results.db") as store:
        create_session(
            store,
            "one",
            problems=[Problem(task) for task in tasks],
            protocol=protocol,
            language="brainfuck",
            dataset="test",
            player=player.name,
        )
        return play_session(store, "one", player, BRAINFUCK, verifier, sandbox=mode)


@pytest.mark.parametrize(
    ("preset", "file", "text", "command"),
    [
        ("host-python", "make.py", PYTHON, "python3 make.py"),
        ("host-js", "make.js", JAVASCRIPT, "node make.js"),
        ("host-rust", "make.rs", RUST, "rustc make.rs 2> errors && ./make"),
    ],
)
def test_a_player_generates_programs_in_the_host_language_of_its_protocol(
    preset: str,
    file: str,
    text: str,
    command: str,
    mode: str,
    tmp_path: Path,
    verifier: Verifier,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    player = Generating({file: text}, command)
    state = play(player, load_protocol(preset), PROBLEMS[:2], tmp_path, verifier, mode)
    assert [(problem.solved, problem.runs) for problem in state.problems] == [(True, 1)] * 2
    assert "no other language may generate them" in player.prompt


def test_a_player_generates_programs_with_the_library_and_reads_the_advice(
    mode: str, tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    protocol = load_protocol("library")
    if mode == "docker":  # the image of the language has no Python, and the root of this protocol has
        protocol = protocol.model_copy(update={"host_language": "python"})
    player = Generating({"make.py": LIBRARY}, "python3 make.py")
    state = play(player, protocol, PROBLEMS[2:], tmp_path, verifier, mode)
    assert state.solved == 1
    assert player.notes == BRAINFUCK.library["README.md"]
    assert "Treat a language that you know as a compiler." in player.prompt
    assert "Read `reference_lib/README.md` first." in player.prompt


def test_the_advice_alone_comes_without_a_library(
    tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    player = Generating({"make.py": PYTHON}, "python3 make.py")
    assert play(player, load_protocol("text"), PROBLEMS[:1], tmp_path, verifier, "bubblewrap").solved == 1
    assert "Treat a language that you know as a compiler." in player.prompt
    assert (player.notes, "reference_lib" in player.prompt) == ("", False)


def test_a_language_without_a_library_is_refused_under_a_protocol_that_gives_one(
    tmp_path: Path, verifier: Verifier, lua: Language
) -> None:
    protocol = load_protocol("library")
    with Store.open(f"sqlite:///{tmp_path}/results.db") as store:
        problems = [Problem(task) for task in PROBLEMS]
        create_session(
            store, "one", problems=problems, protocol=protocol, language="lua", dataset="test", player="test"
        )
        referee = Referee(store, "one", verifier, lua)
        with pytest.raises(UsageError, match=r"the protocol library puts a library .* but lua has none"):
            Box(referee, lua, protocol)
