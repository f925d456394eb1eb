"""Episodes of several turns, with a policy behind a real endpoint and programs in a real sandbox."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.agentic_code import AgenticCode
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.math import Math, MathWithPython
from agnostics.inference.engine import SamplingParams
from agnostics.inference.openai_client import Endpoint
from agnostics.rollout import episode_sandboxes, rollout_verifier
from agnostics.rollout.episode_journal import EpisodeJournal
from agnostics.rollout.episode_loop import EpisodeLoop
from agnostics.rollout.prompts import ChatSettings, RenderedPrompt, prompt_of
from agnostics.rollout.rollout_verifier import RolloutVerifier
from agnostics.rollout.sources import ActionRequest, EndpointSource, SampleRequest
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.reward import Accepted
from agnostics.types.rollout import Action, Rollout, Segment
from agnostics.types.task import Comparison, LimitOverrides, PromptFormat, Task, Test
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier
from chat_server import ChatServer

PARAMS = SamplingParams(temperature=1.0, max_completion_tokens=64)
HIDDEN = "31337"
TASK = Task(
    id="double",
    statement="Double a number.",
    tests=tuple(Test(input=str(n), output=str(2 * n)) for n in (1, 2, int(HIDDEN), 4)),
    limits=LimitOverrides(run_s=0.5),
)
Server = Callable[[Callable[[str], str]], ChatServer]
Play = Callable[..., list[Rollout]]


def _lua(program: str) -> str:
    return f"```lua\n{program}\n```"


RIGHT = _lua("print(2 * io.read('n'))")
WRONG = _lua("print(io.read('n') + 7)")
ENDLESS = _lua("while true do end")
ONLY_PUBLIC = _lua("local n = io.read('n') print(n < 3 and 2 * n or 0)")


@pytest.fixture(scope="module")
def verifier(languages: dict[str, Language]) -> Iterator[RolloutVerifier]:
    with Verifier("bubblewrap", 2) as opened:
        yield RolloutVerifier(languages["lua"], opened)


@pytest.fixture
def play(chat_server: Server, verifier: RolloutVerifier) -> Play:
    """Plays one episode of the task for each reply; `play.server` is what was asked."""

    def played(
        environment: Environment[Any], reply: Callable[[str], str], task: Task = TASK, **limits: int
    ) -> list[Rollout]:
        played.server = server = chat_server(reply)  # type: ignore[attr-defined]
        chosen = environment.limits.model_copy(update=limits)
        with (
            Endpoint(server.url, "m") as endpoint,
            EndpointSource(endpoint, 8) as source,
            EpisodeLoop(source, environment, verifier, chosen) as episodes,
        ):
            prompt = prompt_of(verifier.language, task, ChatSettings(), environment, "text")
            request = SampleRequest(prompt, 0, 0)
            return [future.result(timeout=60) for future in episodes.submit([request], PARAMS)]

    return played


def test_a_program_that_fails_a_public_test_gets_its_difference_and_another_try(play: Play) -> None:
    (rollout,) = play(CodeFeedback(), lambda said: RIGHT if "Expected output" in said else WRONG)
    assert rollout.verified.accepted
    assert [turn.verification and turn.verification.verdict for turn in rollout.turns] == ["wrong_answer", "accepted"]
    assert rollout.turns[0].observation == (
        "The program prints a wrong output.\nInput:\n1\nExpected output:\n2\nThe program printed:\n8\n"
        "Write the whole program again."
    )
    assert rollout.text == RIGHT
    conversation = play.server.conversations[-1]  # type: ignore[attr-defined]
    assert [message["role"] for message in conversation] == ["user", "assistant", "user"]
    assert conversation[1]["content"] == WRONG


def test_hidden_tests_decide_and_are_never_shown(play: Play) -> None:
    (rollout,) = play(CodeFeedback(), lambda _: ONLY_PUBLIC)
    assert (len(rollout.turns), rollout.verified.verdict) == (1, "wrong_answer")
    (rollout,) = play(CodeFeedback(), lambda _: WRONG)
    assert (len(rollout.turns), rollout.verified.verdict) == (3, "wrong_answer")
    assert HIDDEN not in str(play.server.conversations)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("said", "feedback", "told"),
    [
        ("no program at all", "difference", "The program holds no program.\nWrite the whole program again."),
        (WRONG, "verdict", "The program prints a wrong output.\nWrite the whole program again."),
        (WRONG, "none", "Write the whole program again."),
        (
            ENDLESS,
            "verdict",
            "The program takes longer than is allowed.\nWrite the whole program again.",
        ),
    ],
)
def test_the_policy_is_told_as_much_as_the_environment_is_configured_to_tell(
    play: Play, said: str, feedback: Any, told: str
) -> None:
    (rollout,) = play(CodeFeedback(feedback=feedback), lambda _: said, max_turns=2)
    assert [turn.observation for turn in rollout.turns] == [told, None]


def test_an_address_in_an_error_is_the_same_each_time(play: Play) -> None:
    (rollout,) = play(CodeFeedback(), lambda _: _lua("print({})"), max_turns=3)
    first, second, last = (turn.observation for turn in rollout.turns)
    assert first == second
    assert first
    assert "table: 0x..." in first
    assert last is None


@dataclass
class Waiting(Environment[Episode]):
    """Waits in the episode of one sample until that of another one has ended."""

    ended: threading.Event
    name = "waiting"
    limits = EpisodeLimits(max_turns=1)

    async def start(self, episode: Episode) -> Episode:
        return episode

    async def step(self, state: Episode, action: Action) -> Transition:
        if action.text == "slow":
            assert await state.in_thread(self.ended.wait, timeout=30)
        return Transition()

    async def verdict(self, state: Episode) -> Verification:
        self.ended.set()
        return Verification(state.task.id, "lua", None, Verdict.NO_PROGRAM, (), None, "none", 0, 0.0)


def test_a_slow_tool_holds_up_no_other_episode(chat_server: Server, verifier: RolloutVerifier) -> None:
    server = chat_server(lambda question: question)
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 8) as source,
        EpisodeLoop(source, Waiting(threading.Event()), verifier) as episodes,
    ):
        requests = [SampleRequest(RenderedPrompt(TASK, said), 0, 0) for said in ("slow", "fast")]
        slow, fast = episodes.submit(requests, PARAMS)
        assert fast.result(timeout=30).text == "fast"
        assert slow.result(timeout=30).text == "slow"


def test_an_error_of_an_environment_is_that_of_its_episode(play: Play) -> None:
    class Broken(CodeFeedback):
        async def step(self, state: Any, action: Action) -> Transition:  # noqa: ARG002
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        play(Broken(), lambda _: RIGHT)


class Workshop(Environment[list[bytes]]):
    """Runs what the policy says as a command of a session, and says what it printed."""

    name = "workshop"
    limits = EpisodeLimits(max_turns=3)

    async def start(self, episode: Episode) -> Any:
        return episode, await episode.open_session()

    async def step(self, state: Any, action: Action) -> Transition:
        episode, session = state
        result = await episode.in_thread(session.exec, ["sh", "-c", action.text])
        return Transition(observation=episode.tool(result.stdout.decode()))

    async def verdict(self, state: Any) -> Verification:
        episode, session = state
        program = await episode.in_thread(session.get, "program.lua")
        verified: Verification = await episode.verify(program.decode())
        return verified


def test_an_environment_has_a_session_that_ends_with_its_episode(play: Play) -> None:
    commands = iter(["echo 'print(2 * io.read(\"n\"))' > program.lua", "cat program.lua", "ls"])
    (rollout,) = play(Workshop(), lambda _: next(commands))
    assert [turn.observation for turn in rollout.turns] == ["", 'print(2 * io.read("n"))\n', "program.lua\n"]
    assert rollout.verified.accepted


class Shopkeeper:
    """A policy in the same process, whose actions have tokens and write the right program."""

    max_in_flight, progress = 8, 0

    def submit(self, requests: Sequence[ActionRequest], params: SamplingParams) -> list[Future[Action | None]]:  # noqa: ARG002
        action = Future[Action | None]()
        action.set_result(SHELL_ACTION)
        return [action] * len(requests)


SHELL_ACTION = Action(
    "echo 'print(2 * io.read(\"n\"))' > program.lua; ls", "stop", 1, Segment.sampled((1,), (-1.0,), (0,))
)


def test_an_episode_that_starts_anew_gives_its_session_back_first(
    verifier: RolloutVerifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_sandboxes, "MAX_SESSIONS", 1)
    request = SampleRequest(RenderedPrompt(TASK, "Double."), 0, 0, step=1)
    with EpisodeJournal(tmp_path) as killed:
        killed.append(request, SHELL_ACTION, (7, 8))
    with EpisodeJournal(tmp_path) as journal, EpisodeLoop(Shopkeeper(), Workshop(), verifier) as episodes:
        episodes.journal = journal
        (future,) = episodes.submit([request], PARAMS)
        rollout = future.result(timeout=30)
    assert (rollout.verified.verdict, len(rollout.turns), journal.resumed) == ("accepted", 3, 0)


def test_a_run_waits_for_an_action_of_many_long_calls(
    chat_server: Server, verifier: RolloutVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_verifier, "VERDICT_TIMEOUT_S", 3.0)
    calls = "\n".join([_call("bash", "sleep 2")] * 4)
    server = chat_server(_said(calls, RIGHT))
    environment = AgenticCode()
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 1) as source,
        EpisodeLoop(source, environment, verifier) as episodes,
    ):
        prompt = prompt_of(verifier.language, TASK, ChatSettings(), environment, "text")
        (future,) = episodes.submit([SampleRequest(prompt, 0, 0)], PARAMS)
        assert episodes.wait(future).verified.accepted


def _call(tool: str, content: str) -> str:
    return f"<tool: {tool}>\n{content}\n</tool>"


def _said(*texts: str) -> Callable[[str], str]:
    """A policy that says these texts, one in each turn."""
    replies = iter(texts)
    return lambda _: next(replies)


RUN = "luajit snippet.lua < tests/1.in | diff - tests/1.out && echo passed"


def test_an_agent_writes_tests_edits_and_submits_a_program_that_hidden_tests_decide_on(play: Play) -> None:
    wrong = "local n = io.read('n')\nprint(n + n + 1)\n"
    edit = "snippet.lua\n<<<<<<< SEARCH\nprint(n + n + 1)\n=======\nprint(n + n)\n>>>>>>> REPLACE"
    (rollout,) = play(
        AgenticCode(),
        _said(
            "I look around.\n" + _call("bash", "ls tests"),
            _call("create", f"snippet.lua\n{wrong}") + "\n" + _call("bash", RUN),
            _call("edit", edit),
            _call("bash", RUN),
            _call("submit", "snippet.lua"),
        ),
    )
    assert rollout.verified.accepted
    assert rollout.verified.program == "local n = io.read('n')\nprint(n + n)\n"
    calls = [[(call.tool, call.ok) for call in turn.tool_calls] for turn in rollout.turns]
    assert calls == [
        [("bash", True)],
        [("create", True), ("bash", False)],
        [("edit", True)],
        [("bash", True)],
        [("submit", True)],
    ]
    assert rollout.turns[0].observation == "1.in\n1.out\n2.in\n2.out"
    assert "passed" in (rollout.turns[3].observation or "")
    asked = str(play.server.conversations)  # type: ignore[attr-defined]
    assert HIDDEN not in asked
    assert "<tool: submit>" in asked.partition("Double a number.")[0]


def test_an_agent_that_submits_what_passes_the_public_tests_alone_is_not_accepted(play: Play) -> None:
    program = "local n = io.read('n') print(n < 3 and 2 * n or 0)"
    (rollout,) = play(AgenticCode(), _said(_call("create", f"a.lua\n{program}"), _call("submit", "a.lua")))
    assert rollout.verified.verdict == "wrong_answer"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (_call("shell", "ls"), "error: there is no tool 'shell'; the tools are: bash, create, edit, submit"),
        ("<tool: bash>\nls", "error: "),
        ("I do not know.", "There is neither a call of a tool nor a program. Call a tool; submit ends the task."),
        (_call("submit", "nothing.lua"), "nothing.lua does not exist"),
    ],
)
def test_an_action_that_cannot_be_carried_out_is_answered_with_the_reason(play: Play, said: str, told: str) -> None:
    (rollout,) = play(AgenticCode(), _said(said, RIGHT))
    assert (rollout.turns[0].observation or "").startswith(told)
    assert not any(call.ok for call in rollout.turns[0].tool_calls)
    assert rollout.verified.accepted  # a program without a call is the answer


def test_a_conversation_that_outgrows_the_model_of_an_endpoint_ends_its_episode_alone(
    chat_server: Server, verifier: RolloutVerifier
) -> None:
    def reply(question: str) -> str:
        if "Expected output" in question:
            raise ValueError("This model's maximum context length is 100 tokens.")
        return RIGHT if "Third" in question else WRONG

    server = chat_server(reply)
    with (
        Endpoint(server.url, "m") as endpoint,
        EndpointSource(endpoint, 8) as source,
        EpisodeLoop(source, CodeFeedback(), verifier) as episodes,
    ):
        prompts = [RenderedPrompt(TASK, text) for text in ("First.", "Second.", "Third.")]
        futures = episodes.submit([SampleRequest(prompt, 0, 0) for prompt in prompts], PARAMS)
        rollouts = [future.result(timeout=30) for future in futures]
        refused = episodes.submit([SampleRequest(RenderedPrompt(TASK, "Expected output"), 0, 0)], PARAMS)
        with pytest.raises(UsageError, match="refused with 400"):
            refused[0].result(timeout=30)
    ended = [(rollout.verified.verdict, len(rollout.turns), rollout.finish_reason) for rollout in rollouts]
    assert ended == [("wrong_answer", 1, "length"), ("wrong_answer", 1, "length"), ("accepted", 1, "stop")]


@pytest.mark.parametrize(
    ("program", "verdict"),
    [("function double(n) return 2 * n end", "accepted"), ("print('passed')", "runtime_error")],
)
def test_a_submission_is_run_with_the_tests_in_its_language(play: Play, program: str, verdict: str) -> None:
    task = Task(
        id="function",
        statement="Write double(n).",
        tests=(Test(input="", output=""),),
        compare=Comparison(mode="nothing"),
        prompt_format=PromptFormat(language="lua", tests="assert(double(2) == 4)"),
    )
    (rollout,) = play(AgenticCode(), _said(_call("create", f"a.lua\n{program}"), _call("submit", "a.lua")), task)
    assert rollout.verified.verdict == verdict
    asked = str(play.server.conversations)  # type: ignore[attr-defined]
    assert ("assert(" in asked, "stdin" in asked) == (False, False)


def test_the_only_test_of_a_task_is_neither_in_the_workspace_nor_in_the_feedback(play: Play) -> None:
    only = TASK.model_copy(update={"tests": TASK.tests[2:3]})
    (rollout,) = play(AgenticCode(), _said(_call("bash", "ls -A; cat tests/*"), RIGHT), only)
    assert rollout.verified.accepted
    assert HIDDEN not in str(play.server.conversations)  # type: ignore[attr-defined]
    (rollout,) = play(CodeFeedback(), _said(WRONG, RIGHT), only)
    assert rollout.verified.accepted
    told = "The program prints a wrong output.\nWrite the whole program again."
    assert rollout.turns[0].observation == told


def test_an_episode_without_a_submission_within_its_turns_has_no_program(play: Play) -> None:
    (rollout,) = play(AgenticCode(), lambda _: _call("bash", "true"), max_turns=2)
    assert (len(rollout.turns), rollout.verified.verdict) == (2, "no_program")


HALF = Task(id="half", statement="What is $1/2$?", tests=(Test(input="", output="\\frac{1}{2}"),))


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("It is \\boxed{0.5}.", "accepted"),
        ("<think>\\boxed{3}</think> It is \\boxed{\\frac12}.", "accepted"),
        ("It is \\boxed{0.25}.", "wrong_answer"),
        ("It is 0.5.", "no_program"),
        ("\\boxed{0.5} or \\boxed{0.25}", "no_program"),
    ],
)
def test_the_answer_in_the_only_box_decides_a_mathematical_task(play: Play, said: str, verdict: str) -> None:
    (rollout,) = play(Math(), lambda _: said, HALF)
    assert rollout.verified.verdict == verdict


def test_a_comparison_that_is_stopped_leaves_the_episode_out_of_the_loss(play: Play) -> None:
    hostile = Task(id="h", statement="Answer.", tests=(Test(input="", output="x^2+1"),))
    (rollout,) = play(Math(), lambda _: "\\boxed{9^{9^{9^{9^{x}}}} + 10^{10^{10}}!}", hostile)
    assert rollout.verified.verdict in ("sandbox_error", "wrong_answer")
    if rollout.verified.verdict == "sandbox_error":
        assert Accepted().rewards([rollout]) == [None]


def test_a_mathematical_policy_may_run_python_before_it_answers(play: Play) -> None:
    (rollout,) = play(MathWithPython(), _said(_call("python", "print(1 / 2)"), "So \\boxed{0.5}."), HALF)
    assert rollout.verified.accepted
    assert "0.5" in (rollout.turns[0].observation or "")


class Lost(Workshop):
    """Loses its session before the second command."""

    async def step(self, state: Any, action: Action) -> Transition:
        transition = await super().step(state, action)
        state[1].close()
        return transition


def test_an_episode_whose_sandbox_fails_is_left_out_of_the_loss(play: Play) -> None:
    (rollout,) = play(Lost(), lambda _: "ls")
    assert (rollout.verified.verdict, len(rollout.turns)) == ("sandbox_error", 1)
    assert "closed" in (rollout.verified.error or "")
    assert Accepted().rewards([rollout]) == [None]
