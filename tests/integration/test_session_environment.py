"""The environment `session`: the states and replies of the referee, for a policy behind a real endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_sessions import COPY, FIRST, INVALID, LOOP, create, task
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.plugins.manager import load_plugins
from agnostics.referee.environment import ProtocolSession, SessionEpisode
from agnostics.referee.referee import Referee
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import ChatSettings, prompt_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import EndpointSource, SampleRequest
from agnostics.store import Store
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout
from agnostics.types.task import LimitOverrides, PromptFormat, Task
from agnostics.types.verification import Verification
from agnostics.verify import Verifier
from chat_server import ChatServer
from command_line import Agn

LANGUAGE: Language = load_plugins().language("brainfuck")
TASK = task("E01", limits=LimitOverrides(run_s=0.5))
PARAMS = SamplingParams(temperature=1.0, max_completion_tokens=64)
Server = Callable[[Callable[[str], str]], ChatServer]


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier("bubblewrap", 2) as opened:
        yield opened


class Kept(ProtocolSession):
    """The same environment, which keeps the state of its last episode."""

    last: SessionEpisode

    async def verdict(self, state: SessionEpisode) -> Verification:
        type(self).last = state
        return await super().verdict(state)


Play = Callable[..., Rollout]


@pytest.fixture
def play(chat_server: Server, verifier: Verifier) -> Play:
    """Plays one episode with these actions; `play.server` is what was asked."""

    def played(actions: list[str], protocol: str = "primary", problem: Task = TASK, **limits: int) -> Rollout:
        left = iter(actions)
        played.server = server = chat_server(lambda _: next(left))  # type: ignore[attr-defined]
        environment = Kept(protocol=protocol)
        chosen = environment.limits.model_copy(update=limits)
        with (
            Endpoint(server.url, "m") as endpoint,
            EndpointSource(endpoint, 1) as source,
            EpisodeLoop(source, environment, RolloutVerifier(LANGUAGE, verifier), chosen) as episodes,
        ):
            prompt = prompt_of(LANGUAGE, problem, ChatSettings(), environment, "text")
            (future,) = episodes.submit([SampleRequest(prompt, 0, 0)], PARAMS)
            return future.result(timeout=60)

    return played


def run(program: str, stdin: str = "") -> str:
    return f"<tool: run>\n{program}\n=======\n{stdin}\n</tool>"


def submit(program: str) -> str:
    return f"<tool: submit>\n{program}\n</tool>"


def plain(program: str) -> str:
    return f"```brainfuck\n{program}\n```"


Operation = tuple[str, str, str]
OPERATIONS: list[Operation] = [
    ("run", FIRST, "ab"),
    ("run", LOOP, ""),
    ("run", INVALID, "x"),
    ("run", COPY, "\u00e9"),
    ("submit", INVALID, ""),
    ("run", COPY, "y"),
    ("run", COPY, "z" * (1 << 17)),
    ("submit", FIRST, ""),
    ("submit", COPY, ""),
    ("run", COPY, "late"),
    ("submit", COPY, ""),
]


@pytest.mark.parametrize("form", ["verdicts", "controlled", "primary", "one-run", "no-runs"])
def test_an_episode_has_the_states_and_replies_of_the_referee_for_the_same_operations(
    play: Play, verifier: Verifier, tmp_path: Path, form: str
) -> None:
    own = {"verdicts": "feedback: verdicts", "one-run": "runs: 1\nskip: never", "no-runs": "runs: 0\nsubmissions: 2"}
    if form in own:
        (tmp_path / f"{form}.yaml").write_text(f"name: own\n{own[form]}\n")
    protocol = str(tmp_path / f"{form}.yaml") if form in own else form
    rules = ProtocolSession(protocol=protocol).rules
    with Store.open(str(tmp_path / "results.db")) as store:
        create(store, "one", [TASK], **rules.model_dump(exclude={"name"}))
        referee = Referee(store, "one", verifier, LANGUAGE)
        referee.fetch()
        operations = [one for one in OPERATIONS if not (rules.runs == 0 and one[0] == "run")]
        replies = list[str]()
        for kind, program, stdin in operations:
            reply = referee.run(program, stdin) if kind == "run" else referee.submit("E01", program)
            replies.append(reply.text)
            if referee.state.all_done:
                break
    write = plain if rules.runs == 0 else submit
    actions = [run(program, stdin) if kind == "run" else write(program) for kind, program, stdin in operations]
    rollout = play(actions, protocol)
    told = [turn.observation for turn in rollout.turns]
    assert told == [*replies[:-1], None]
    ours, theirs = Kept.last.session, referee.state
    assert (ours.problems, ours.sequence, ours.refusals) == (theirs.problems, theirs.sequence, theirs.refusals)
    assert ours.all_done
    assert rollout.verified.accepted == (theirs.solved == 1)


def test_a_message_with_a_program_alone_is_a_submission_and_the_last_one_decides(play: Play) -> None:
    rollout = play([plain(FIRST), "I give up.", plain(INVALID), plain(COPY)])
    assert [turn.observation for turn in rollout.turns] == [
        "E01: 1 of 3 hidden tests passed.\nNot solved; 2 submissions left.",
        "There is no program in the message.",
        "E01: 0 of 3 hidden tests passed.\nNot solved; 1 submission left.",
        None,
    ]
    assert [turn.verification and turn.verification.accepted for turn in rollout.turns] == [False, None, False, True]
    assert (rollout.verified.accepted, len(rollout.verified.tests)) == (True, 3)


def test_an_episode_without_a_submission_has_no_program_though_a_run_was_right(play: Play) -> None:
    rollout = play([run(COPY, "E01")] * 2, max_turns=2)
    assert rollout.verified.verdict == "no_program"
    assert len(rollout.turns) == 2


def test_several_calls_of_an_action_are_carried_out_until_the_problem_is_final(play: Play) -> None:
    rollout = play(["\n".join([run(FIRST, "ab"), submit(COPY), submit(FIRST)])])
    (turn,) = rollout.turns
    assert [(record.tool, record.ok) for record in turn.tool_calls] == [("run", True), ("submit", True)]
    assert rollout.verified.accepted


def test_hidden_tests_are_never_shown(play: Play) -> None:
    play([plain(FIRST), plain(INVALID), run(COPY, "q"), plain(COPY)], "primary", TASK)
    said = str(play.server.conversations)  # type: ignore[attr-defined]
    assert "E01 E01" not in said
    assert "Its tests are hidden." in said


def test_the_prompt_says_what_the_protocol_allows() -> None:
    primary, controlled = (
        ProtocolSession(protocol=name).system_prompt(LANGUAGE, "text") for name in ("primary", "controlled")
    )
    assert "You may run programs any number of times. You have 3 submissions;" in primary
    assert "You may run programs at most 3 times. You have 1 submission;" in controlled
    assert "<tool: run>\n[program]\n=======\n[input]\n</tool>" in controlled
    assert "Treat a language that you know as a compiler." in ProtocolSession(protocol="text").system_prompt(
        LANGUAGE, "text"
    )


def test_an_unknown_protocol_and_a_task_that_completes_a_program_are_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown protocol .primry.; did you mean .primary.\?"):
        ProtocolSession(protocol="primry")
    part = TASK.model_copy(update={"prompt_format": PromptFormat(language="brainfuck", tests="")})
    with pytest.raises(UsageError, match="'E01' takes a part of a program; a session needs whole programs"):
        ProtocolSession().message(part, LANGUAGE)


def test_an_evaluation_of_sessions_counts_the_problems_that_are_solved(
    agn: Agn, chat_server: Server, tmp_path: Path
) -> None:
    problem = {"split": "test", **TASK.model_dump(exclude_defaults=True)}
    other = {**problem, "id": "E02", "tests": [{"input": "a", "output": "b"}, {"input": "b", "output": "c"}]}
    (tmp_path / "tasks.jsonl").write_text(f"{json.dumps(problem)}\n{json.dumps(other)}\n")
    server = chat_server(lambda said: plain(COPY) if "1 of 3" in said else plain(FIRST))
    answer = agn(
        *("eval", "--language", "brainfuck", "--endpoint", server.url, "--model", "m", "--environment", "session"),
        *("--dataset", str(tmp_path / "tasks.jsonl"), "--set", "split=test", "--set", "samples=1"),
        *("--sandbox", "bubblewrap", "--store", str(tmp_path / "results.db"), "--json"),
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.json["evaluations"][0]["rates"]["pass@1"]["rate"] == 0.5
