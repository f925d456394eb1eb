"""Players that ask a model: the bare one, and coding agents, which run unchanged in the box."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
import scripted_model
from agent_session import BRAINFUCK
from agnostics.players.agent import Agent, AgentCommand, Invocation
from agnostics.players.bare import BareModel
from agnostics.players.model_player import ModelPlayer
from agnostics.players.session_runner import play_session
from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.session_rows import create_session
from agnostics.referee.state import SessionState
from agnostics.sandbox.slot_options import Mount
from agnostics.store import schema
from agnostics.store.database import reading
from agnostics.store.store import Store
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.types.task import Task, Test
from agnostics.util.paths import cache_folder
from agnostics.verify import Verifier
from agnostics_players import agn_players
from command_line import Agn
from scripted_model import Body, serving
from sqlalchemy import select

AGENTS = {player.name: player for player in agn_players()}


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 1, languages={"brainfuck": BRAINFUCK}) as made:
        yield made


@dataclass(frozen=True)
class Played:
    state: SessionState
    calls: list[Any]
    """The rows of the calls of the model."""

    @property
    def solved(self) -> list[bool]:
        return [problem.solved for problem in self.state.problems]

    @property
    def tokens(self) -> list[tuple[int, int]]:
        return [(call.prompt_tokens, call.completion_tokens) for call in self.calls]


@pytest.fixture
def play(tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Played]:
    """Plays a session of the four problems of the scripted model, or of the first ones."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def play_(player: ModelPlayer, problems: int = 4, sandbox: str = "bubblewrap", **rules: Any) -> Played:
        tasks = [
            Task(
                id=task["id"],
                statement=task["statement"],
                tests=tuple(Test(input=i, output=o) for i, o in task["tests"]),
            )
            for task in scripted_model.TASKS[:problems]
        ]
        name = f"test-{time.monotonic_ns()}"
        with Store.open(f"sqlite:///{tmp_path}/results.db") as store:
            create_session(
                store,
                name,
                problems=[Problem(task) for task in tasks],
                protocol=Protocol(name="test", **rules),
                language="brainfuck",
                dataset="test",
                player=player.name,
            )
            state = play_session(store, name, player, BRAINFUCK, verifier, sandbox=sandbox)
            with reading(store.engine) as connection:
                session = schema.agent_session
                id_ = connection.scalar(select(session.c.id).where(session.c.name == name))
                rows = select(schema.model_call).where(schema.model_call.c.session_id == id_)
                return Played(state, list(connection.execute(rows)))

    return play_


def task_of(task: Body) -> Task:
    tests = tuple(Test(input=given, output=output) for given, output in task["tests"])
    return Task(id=task["id"], statement=task["statement"], tests=tests)


# The bare player.


def tool_call(name: str, **arguments: str) -> Body:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": "", "tool_calls": [{"id": f"c{time.monotonic_ns()}", "type": "function", "function": function}]}


def text_call(name: str, **arguments: str) -> Body:
    content = "\n".join(arguments.values())
    return {"content": f"I call it.\n<tool: {name}>\n{content}\n</tool>" if content else f"<tool: {name}>\n</tool>"}


def json_call(name: str, **arguments: str) -> Body:
    return {"content": f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"}


def solve_with(call: Callable[..., Body]) -> Callable[[Body], Body]:
    """A model that solves the problems with the tools of the bare player, the first one at the second attempt."""

    def message(body: Body) -> Body:
        last = scripted_model.text_of(body["messages"][-1])
        texts = [scripted_model.text_of(one) for one in body["messages"]]
        opened = [name for text in texts for name in scripted_model.PROGRAMS if f"Problem {name}," in text]
        if not opened or "Fetch the next problem" in last:
            return call("fetch")
        problem = opened[-1]
        if "wrote " in last:
            return call("run", file="a.bf", input="ab")
        if "--- stdout ---" in last:
            return call("submit", problem=problem, file="a.bf")
        failed = any("Not solved" in text for text in texts)
        wrong = problem == "echo" and not failed
        if "Problem " in last or "Not solved" in last:
            return call(
                "write_file", path="a.bf", content=scripted_model.WRONG if wrong else scripted_model.PROGRAMS[problem]
            )
        return {"content": "I am done."}

    return message


@pytest.mark.parametrize(("form", "call"), [("tools", tool_call), ("text", text_call), ("qwen", json_call)])
def test_a_bare_model_solves_a_session_in_each_form_of_calls(
    form: Any, call: Callable[..., Body], play: Callable[..., Played]
) -> None:
    with serving(solve_with(call)) as model:
        played = play(BareModel(endpoint=model.url, model="small", form=form), problems=2)
    assert played.solved == [True, True]
    assert [len(problem.submissions) for problem in played.state.problems] == [2, 1]
    assert [problem.runs for problem in played.state.problems] == [2, 1]
    assert played.tokens == model.tokens
    assert {(call.api, call.model, call.status) for call in played.calls} == {("chat", "small", 200)}
    assert ("tools" in json.loads(played.calls[0].request)) == (form == "tools")


def test_a_bare_model_that_calls_nothing_is_told_twice_to_go_on_in_each_of_three_conversations(
    play: Callable[..., Played],
) -> None:
    with serving(lambda _: {"content": "I think."}) as model:
        played = play(BareModel(endpoint=model.url, model="small"))
    assert len(played.calls) == 9
    last = json.loads(played.calls[-1].request)["messages"]
    assert [message["role"] for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert played.state.finished
    assert not any(played.solved)


def test_a_conversation_that_always_calls_the_same_begins_again(play: Callable[..., Played]) -> None:
    answers = chain([tool_call("fetch")], repeat(tool_call("read_file", path="nothing")))
    with serving(lambda _: next(answers)) as model:
        played = play(BareModel(endpoint=model.url, model="small"))
    sizes = [len(json.loads(call.request)["messages"]) for call in played.calls]
    assert sizes[:7] == [2, 4, 6, 8, 10, 12, 2]
    assert played.state.finished
    assert len(sizes) == 1 + 5 + 3 * 5


def test_a_silent_conversation_begins_again_and_the_third_without_an_operation_ends_the_session(
    play: Callable[..., Played],
) -> None:
    answers = iter([tool_call("fetch"), *({"content": "I think."} for _ in range(12))])
    with serving(lambda _: next(answers)) as model:
        played = play(BareModel(endpoint=model.url, model="small"))
    assert len(played.calls) == 1 + 3 + 3 * 3
    again = json.loads(played.calls[4].request)["messages"]
    assert [message["role"] for message in again] == ["system", "user"]
    assert again[1]["content"].startswith("The session goes on")
    assert played.state.finished


@pytest.mark.parametrize(
    ("form", "written"), [("tools", "call a tool."), ("text", "<tool: status>\n</tool>"), ("qwen", "<tool_call>\n{")]
)
def test_a_reminder_says_how_a_call_is_written_and_lists_no_problems(
    form: Any, written: str, play: Callable[..., Played]
) -> None:
    answers = iter([tool_call("fetch"), {"content": "I think."}, {"content": "I think."}])
    if form != "tools":
        answers = iter([{"content": "I think."}, {"content": "I think."}, {"content": "I think."}])
    with serving(lambda _: next(answers)) as model:
        played = play(BareModel(endpoint=model.url, model="small", form=form, turns=3))
    told = json.loads(played.calls[-1].request)["messages"][-1]["content"]
    assert written in told
    assert "0 of 4 problems solved, 0 final." in told
    assert told.endswith("echo is open; left: 3 submissions, any number of runs." if form == "tools" else "0 final.")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('```json\n{"name": "fetch", "arguments": {}}\n```', "Result of fetch:\nProblem echo, 1 of 4"),
        ('<tool_call>\n{"name": "fetch"}\n</tool_call>', "Result of a call:\nthe call needs a name and arguments"),
    ],
)
def test_a_call_that_a_server_left_in_the_text_is_carried_out_or_refused(
    text: str, told: str, play: Callable[..., Played]
) -> None:
    with serving(lambda _: {"content": text}) as model:
        played = play(BareModel(endpoint=model.url, model="small", turns=2))
    last = json.loads(played.calls[-1].request)["messages"][-1]
    assert last["role"] == "user"
    assert last["content"].startswith(told)


def test_a_message_that_was_cut_off_is_said_to_be(play: Callable[..., Played]) -> None:
    with serving(lambda _: {"content": "++++" * 9, "finish_reason": "length"}) as model:
        played = play(BareModel(endpoint=model.url, model="small", turns=2), output_tokens=9)
    told = json.loads(played.calls[-1].request)["messages"][-1]["content"]
    assert told.startswith("Your message has reached its limit of 9 tokens, and was cut off there.")


def test_arguments_that_the_schema_does_not_forbid_are_ignored(play: Callable[..., Played]) -> None:
    answers = iter([tool_call("fetch", file="a.bf"), tool_call("read_file", path="x", mode="r")])
    with serving(lambda _: next(answers)) as model:
        played = play(BareModel(endpoint=model.url, model="small", turns=2))
    assert json.loads(played.calls[-1].request)["messages"][-1]["content"].startswith("Problem echo, 1 of 4")


def test_a_bare_model_has_a_budget_of_turns(play: Callable[..., Played]) -> None:
    with serving(lambda _: tool_call("status")) as model:
        played = play(BareModel(endpoint=model.url, model="small", turns=5))
    assert len(played.calls) == 5


def test_a_call_of_a_bare_model_that_cannot_be_carried_out_is_told_so(play: Callable[..., Played]) -> None:
    calls = [
        tool_call("shell", command="ls"),
        tool_call("read_file"),
        {**tool_call("fetch"), "tool_calls": [{"id": "x", "function": {"name": "fetch", "arguments": "{"}}]},
        tool_call("read_file", path="nothing"),
        tool_call("write_file", path="../../etc/x", content="x"),
        tool_call("submit", problem="echo", file="nothing"),
        tool_call("skip"),
    ]
    answers = iter(calls)
    with serving(lambda _: next(answers)) as model:
        played = play(BareModel(endpoint=model.url, model="small", turns=len(calls)))
    requests = [json.loads(call.request)["messages"][-1]["content"] for call in played.calls[1:]]
    expected = [
        "there is no tool 'shell'",
        "the argument 'path' is missing",
        "not valid JSON",
        "cannot read 'nothing'",
        "no path of a file in the workspace",
        "cannot read 'nothing'",
    ]
    assert all(part in text for part, text in zip(expected, requests, strict=True)), requests
    assert played.state.sequence - played.state.refusals == 1  # the end alone


def test_a_conversation_that_is_too_long_for_the_model_begins_again(play: Callable[..., Played]) -> None:
    solve = solve_with(tool_call)

    def forgetful(body: Body) -> Body:
        if len(body["messages"]) > 17:
            raise ValueError("the maximum context length is 17 messages")
        return solve(body)

    with serving(forgetful) as model:
        played = play(BareModel(endpoint=model.url, model="small"))
    assert played.solved == [True] * 4
    refused = [call for call in played.calls if call.status != 200]
    assert {(call.status, json.loads(call.response)["error"]["code"]) for call in refused} == {
        (400, "context_length_exceeded")
    }
    again = json.loads(played.calls[played.calls.index(refused[0]) + 1].request)["messages"]
    assert again[1]["content"].startswith("The session goes on")


@pytest.mark.parametrize("options", [{}, {"endpoint": "http://localhost:1/v1"}])
def test_a_player_without_a_model_says_what_to_set(options: dict[str, str]) -> None:
    for player in (BareModel(), *AGENTS.values()):
        with pytest.raises(UsageError, match=r"--set model=NAME.* --set endpoint=URL if it is behind one"):
            replace(player, **options).check_requirements()  # type: ignore[type-var]


# Agents of our own, which do what real ones should not.


@dataclass
class Rogue(Agent):
    """A program for the shell in place of an agent."""

    script: str = ""

    name = "rogue"
    description = "A script."
    agent_language = None

    def command(self, invocation: Invocation) -> AgentCommand:
        return AgentCommand(["sh", "-c", self.script], {"URL": invocation.url, "KEY": invocation.key})

    def mounts(self) -> Sequence[Mount]:
        return ()


ECHO = "session fetch && printf %s ',[.,]' > a.bf && session submit echo a.bf"


def rogue(script: str, url: str = "http://127.0.0.1:9/v1", **options: Any) -> Rogue:
    return Rogue(endpoint=url, model="small", script=script, **options)


@pytest.mark.parametrize(
    "script",
    [
        "sleep 1000",
        "while :; do sh -c : & done",
        "yes",
        "yes > file",
    ],
)
def test_an_agent_that_hangs_or_floods_ends_at_its_limit_and_keeps_what_it_solved(
    script: str, play: Callable[..., Played]
) -> None:
    began = time.monotonic()
    played = play(rogue(f"{ECHO}; {script}", time_s=2, starts=1), problems=2)
    assert time.monotonic() - began < 40
    assert played.solved == [True, False]
    assert played.state.finished


def test_an_agent_that_floods_costs_its_own_session_alone(play: Callable[..., Played]) -> None:
    flood = (
        "cat > f.py <<'E'\n"
        "import socket, time\n"
        "held = []\n"
        "while True:\n"
        "    try:\n"
        "        s = socket.create_connection(('127.0.0.1', 8000)); held.append(s)\n"
        "        s.sendall(b'POST /v1/messages HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 999\\r\\n\\r\\n')\n"
        "    except OSError:\n"
        "        held = held[-200:]; time.sleep(0.001)\n"
        "E\npython3 f.py"
    )
    with serving(scripted_model.work) as model:
        flooding = threading.Thread(target=play, args=(rogue(flood, model.url, time_s=5, starts=1),))
        flooding.start()
        time.sleep(2)
        began = time.monotonic()
        played = play(BareModel(endpoint=model.url, model="small", turns=3))
        other_s = time.monotonic() - began
        flooding.join(60)
    assert len(played.calls) == 3
    assert other_s < 30


def test_an_agent_reaches_its_model_with_its_key_and_nothing_else(play: Callable[..., Played]) -> None:
    script = (
        "cat > c.py <<'E'\n"
        "import json, os, socket, urllib.request\n"
        "def ask(key):\n"
        "    said = [{'role': 'user', 'content': 'hi'}]\n"
        "    body = json.dumps({'model': 'x', 'max_tokens': 5, 'messages': said}).encode()\n"
        "    request = urllib.request.Request(os.environ['URL'] + '/v1/messages', body, {'x-api-key': key})\n"
        "    return json.load(urllib.request.urlopen(request, timeout=20))['content'][0]['text']\n"
        "print(ask(os.environ['KEY']))\n"
        "for attempt in (lambda: ask('other'), lambda: socket.create_connection(('1.1.1.1', 443), 3),\n"
        "                lambda: socket.getaddrinfo('pypi.org', 443)):\n"
        "    try:\n"
        "        attempt()\n"
        "    except OSError:\n"
        "        pass\n"
        "    else:\n"
        "        raise SystemExit(3)\n"
        "E\npython3 c.py && " + ECHO
    )
    with serving(lambda _: {"content": "hello"}) as model:
        played = play(rogue(script, model.url, starts=1), problems=1)
    assert played.solved == [True]
    assert [(call.api, call.status) for call in played.calls] == [("messages", 200)]
    assert played.tokens == model.tokens


def test_an_agent_that_ends_early_is_started_again_while_it_gets_on(play: Callable[..., Played]) -> None:
    script = (
        "session fetch > p; n=$(sed -n '1s/Problem \\([a-z]*\\),.*/\\1/p' p); cp $n.bf a.bf; session submit $n a.bf"
    )
    programs = "; ".join(f"printf %s '{program}' > {name}.bf" for name, program in scripted_model.PROGRAMS.items())
    played = play(rogue(f"{programs}; echo start >> starts; {script}"))
    assert played.solved == [True] * 4
    assert play(rogue(f"{programs}; {script}", starts=2)).solved == [True, True, False, False]
    idle = play(rogue("session status; session submit echo nothing; exit 1"))
    assert idle.state.sequence - idle.state.refusals == 1


def test_an_agent_that_cannot_be_started_leaves_the_session_to_be_resumed(play: Callable[..., Played]) -> None:
    with pytest.raises(AgnosticsError, match="rogue cannot be started in the box"):
        play(rogue("exit 127"))


# Real agents.


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Agent]:
    """Installs an agent in a folder that later runs of the tests find, and gives its player."""
    monkeypatch.setenv("XDG_DATA_HOME", str(cache_folder() / "test-agents"))

    def install(name: str) -> Agent:
        player = AGENTS[name]
        assert isinstance(player, Agent)
        try:
            player.install()
        except AgnosticsError as error:
            pytest.skip(str(error))
        return player

    return install


FOUR = ("claude-code", "codex", "mini-swe-agent", "pi")
"""Those that take little: 3, 1, 6 and 3 CPU seconds for the session. They use all three APIs, no interpreter, Python
and Node.js. The others take 10 (qwen-code), 13 (opencode) and 16 (aider)."""
APIS = {"codex": "responses", "claude-code": "messages"}


def check_agent(name: str, installed: Callable[[str], Agent], play: Callable[..., Played], sandbox: str) -> None:
    """A session that the model of the agent ends after its second problem, and which goes on in a second start."""
    player = installed(name)
    stops = iter([True])

    def message(body: Body) -> Body:
        results = [scripted_model.text_of(one) for one in body["messages"] if one["role"] == "tool"]
        if sum("Solved." in text for text in results) == 2 and next(stops, False):
            wants_mark = "COMPLETE_TASK" in json.dumps(body["messages"])
            return scripted_model.work(body) if wants_mark else {"content": "That is enough."}
        return scripted_model.work(body)

    with serving(message) as model:
        played = play(replace(player, endpoint=model.url, model="scripted", time_s=240.0), sandbox=sandbox)
    assert played.solved == [True] * 4
    assert [len(problem.submissions) for problem in played.state.problems] == [2, 1, 1, 1]
    assert sorted(played.tokens) == sorted(model.tokens)
    assert {(call.api, call.status) for call in played.calls} == {(APIS.get(name, "chat"), 200)}


def test_players_are_listed_and_their_agents_installed_by_name(installed: Callable[[str], Agent], agn: Agn) -> None:
    installed("codex")
    listed = agn("session", "players").stdout
    assert {"bare", "replay", *AGENTS} <= set(listed.split())
    rows = agn("session", "players", "--json").json
    assert next(row for row in rows if row["player"] == "codex")["installed"]
    assert agn("session", "players", "install", "codex").stdout == "codex is installed\n"
    assert agn("session", "players", "install", "codx").complaint == "agn: unknown player 'codx'; did you mean 'codex'?"


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUR)
def test_four_agents_finish_a_session(
    name: str, installed: Callable[[str], Agent], play: Callable[..., Played]
) -> None:
    check_agent(name, installed, play, "bubblewrap")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(AGENTS))
def test_every_agent_finishes_a_session_in_each_mode(
    name: str, mode: str, installed: Callable[[str], Agent], play: Callable[..., Played], request: pytest.FixtureRequest
) -> None:
    if not request.config.getoption("agents"):
        pytest.skip("--agents installs and runs all of them in both modes: three gigabytes, and minutes")
    check_agent(name, installed, play, mode)


def test_an_agent_that_is_not_installed_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    player = replace(AGENTS["codex"], endpoint="http://localhost:1/v1", model="m")  # type: ignore[type-var]
    with pytest.raises(MissingRequirement, match="agn session players install codex"):
        player.check_requirements()


@pytest.mark.parametrize(("name", "registry"), [("codex", "PyPI"), ("mini-swe-agent", "PyPI")])
def test_an_installation_without_a_network_says_so_and_leaves_nothing(
    name: str, registry: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    for variable, value in {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_INDEX": "0",
    }.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(AgnosticsError, match=f"could not be installed: .*a network that leads to {registry}"):
        AGENTS[name].install()
    assert not [path for path in (tmp_path / "agnostics" / "agents").iterdir() if path.is_dir()]


def test_each_agent_has_a_folder_of_its_own() -> None:
    packages = [player.package for player in AGENTS.values() if isinstance(player, Agent)]
    assert len({package.folder for package in packages}) == len(packages) == 7
