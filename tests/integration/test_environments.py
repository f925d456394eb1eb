"""The built-in environments, with a policy behind a real endpoint and programs in a real sandbox."""

from __future__ import annotations

from typing import Any

import pytest
from agnostics.environments.agentic_code import AgenticCode
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.environments.math import Math, MathWithPython
from agnostics.types.reward import Accepted
from agnostics.types.task import Comparison, PromptFormat, Task, Test
from episodes import HIDDEN, RIGHT, TASK, WRONG, Play, lua_answer, saying, tool_call

ENDLESS = lua_answer("while true do end")
ONLY_PUBLIC = lua_answer("local n = io.read('n') print(n < 3 and 2 * n or 0)")


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
    (rollout,) = play(CodeFeedback(), lambda _: lua_answer("print({})"), max_turns=3)
    first, second, last = (turn.observation for turn in rollout.turns)
    assert first == second
    assert first
    assert "table: 0x..." in first
    assert last is None


RUN = "luajit snippet.lua < tests/1.in | diff - tests/1.out && echo passed"


def test_an_agent_writes_tests_edits_and_submits_a_program_that_hidden_tests_decide_on(play: Play) -> None:
    wrong = "local n = io.read('n')\nprint(n + n + 1)\n"
    edit = "snippet.lua\n<<<<<<< SEARCH\nprint(n + n + 1)\n=======\nprint(n + n)\n>>>>>>> REPLACE"
    (rollout,) = play(
        AgenticCode(),
        saying(
            "I look around.\n" + tool_call("bash", "ls tests"),
            tool_call("create", f"snippet.lua\n{wrong}") + "\n" + tool_call("bash", RUN),
            tool_call("edit", edit),
            tool_call("bash", RUN),
            tool_call("submit", "snippet.lua"),
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
    (rollout,) = play(AgenticCode(), saying(tool_call("create", f"a.lua\n{program}"), tool_call("submit", "a.lua")))
    assert rollout.verified.verdict == "wrong_answer"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (tool_call("shell", "ls"), "error: there is no tool 'shell'; the tools are: bash, create, edit, submit"),
        ("<tool: bash>\nls", "error: "),
        ("I do not know.", "There is neither a call of a tool nor a program. Call a tool; submit ends the task."),
        (tool_call("submit", "nothing.lua"), "nothing.lua does not exist"),
    ],
)
def test_an_action_that_cannot_be_carried_out_is_answered_with_the_reason(play: Play, said: str, told: str) -> None:
    (rollout,) = play(AgenticCode(), saying(said, RIGHT))
    assert (rollout.turns[0].observation or "").startswith(told)
    assert not any(call.ok for call in rollout.turns[0].tool_calls)
    assert rollout.verified.accepted  # a program without a call is the answer


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
    (rollout,) = play(
        AgenticCode(), saying(tool_call("create", f"a.lua\n{program}"), tool_call("submit", "a.lua")), task
    )
    assert rollout.verified.verdict == verdict
    asked = str(play.server.conversations)  # type: ignore[attr-defined]
    assert ("assert(" in asked, "stdin" in asked) == (False, False)


def test_the_only_test_of_a_task_is_neither_in_the_workspace_nor_in_the_feedback(play: Play) -> None:
    only = TASK.model_copy(update={"tests": TASK.tests[2:3]})
    (rollout,) = play(AgenticCode(), saying(tool_call("bash", "ls -A; cat tests/*"), RIGHT), only)
    assert rollout.verified.accepted
    assert HIDDEN not in str(play.server.conversations)  # type: ignore[attr-defined]
    (rollout,) = play(CodeFeedback(), saying(WRONG, RIGHT), only)
    assert rollout.verified.accepted
    told = "The program prints a wrong output.\nWrite the whole program again."
    assert rollout.turns[0].observation == told


def test_an_episode_without_a_submission_within_its_turns_has_no_program(play: Play) -> None:
    (rollout,) = play(AgenticCode(), lambda _: tool_call("bash", "true"), max_turns=2)
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
    (rollout,) = play(MathWithPython(), saying(tool_call("python", "print(1 / 2)"), "So \\boxed{0.5}."), HALF)
    assert rollout.verified.accepted
    assert "0.5" in (rollout.turns[0].observation or "")
