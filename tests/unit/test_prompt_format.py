"""How a completion becomes a program where the tests are part of it: as MultiPL-E stitches and stops."""

from __future__ import annotations

import pytest
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Comparison, PromptFormat, Task, Test
from agnostics_datasets.multipl_e import MultiplE, MultiplEProblem
from pydantic import ValidationError

STOP = ("\nlocal", "\nfunction", "\n--", "\n\n")
PROMPT, TESTS = "-- Add.\nlocal function add(a, b)\n", "assert(add(1, 2) == 3)"


def task(stop: tuple[str, ...] | None) -> Task:
    return Task(
        id="add",
        statement=PROMPT,
        tests=(Test(input="", output=""),),
        compare=Comparison(mode="nothing"),
        prompt_format=PromptFormat(language="lua", tests=TESTS, stop=stop),
    )


@pytest.mark.parametrize(
    ("completion", "kept"),
    [
        ("  return a + b\nend", "  return a + b\nend"),
        ("  return a + b\nend\n\nprint(1)", "  return a + b\nend"),
        ("  return a + b\nend\n-- more\nlocal x", "  return a + b\nend"),
        ("\nlocal x = 1\n", ""),
        ("  local x = 1\nend", "  local x = 1\nend"),
        ("", ""),
    ],
)
def test_a_completion_goes_on_from_the_prompt_to_the_first_stop(lua: Language, completion: str, kept: str) -> None:
    assert lua.program_for(task(STOP), completion) == f"{PROMPT}{kept}\n{TESTS}"


def test_without_stops_a_completion_goes_on_to_its_end(lua: Language) -> None:
    assert lua.program_for(task(()), "a\n\nb") == f"{PROMPT}a\n\nb\n{TESTS}"


@pytest.mark.parametrize(
    ("stop", "ends"),
    [
        (None, ()),
        (STOP, STOP),
        (("\n}", "\n}\n"), ("\n}", "\n}\n")),
        (("}\n", "\n}\n", "x"), ("\n}\n", "x")),
    ],
)
def test_sampling_ends_at_no_stop_before_which_another_may_begin(
    stop: tuple[str, ...] | None, ends: tuple[str, ...]
) -> None:
    assert PromptFormat(language="lua", tests=TESTS, stop=stop).ends == ends


def test_a_block_of_an_answer_is_followed_by_the_tests(lua: Language) -> None:
    asked = task(None)
    assert lua.program_for(asked, "So:\n```lua\nx = 1\n```\nDone.") == f"x = 1\n\n{TESTS}"
    assert lua.program_for(asked, "I do not know.") is None
    led = asked.model_copy(update={"prompt_format": PromptFormat(language="lua", before="local y\n", tests=TESTS)})
    assert lua.program_for(led, "```lua\nx = 1\n```") == f"local y\nx = 1\n\n{TESTS}"


def test_a_benchmark_asks_in_its_own_words(lua: Language) -> None:
    assert lua.prompt_for(task(STOP)) == PROMPT
    assert lua.prompt_for(task(None).model_copy(update={"prompt_format": None})).startswith(lua.prompt)


def test_tests_of_another_language_are_refused(lua: Language) -> None:
    asked = task(STOP)
    other = asked.model_copy(update={"prompt_format": PromptFormat(language="ml", tests=TESTS, stop=STOP)})
    for act in (lambda: lua.program_for(other, ""), lambda: lua.prompt_for(other)):
        with pytest.raises(UsageError, match="task 'add' has its tests in 'ml', which is no name or tag of 'lua'"):
            act()
    lua.model_copy(update={"tags": ("ml",)}).program_for(other, "")


FAILED = "\nFAIL in (test-humaneval) (t.clj:8)\nexpected: (= 2 (f 1))\n\nRan 1 tests containing 1 assertions.\n"
RACKUNIT = "--------------------\nFAILURE\nname:       check-within\n"


@pytest.mark.parametrize(
    ("language", "stdout", "stderr", "passes"),
    [
        ("clj", "\nTesting user\n\nRan 1 tests containing 1 assertions.\n0 failures, 0 errors.\n", "", True),
        ("clj", f"{FAILED}1 failures, 0 errors.\n", "", False),
        ("clj", f"{FAILED}10 failures, 0 errors.\n", "", False),
        ("clj", "", "", False),
        ("pl", "ok!ok!", "odd at snippet.pl line 3.\n", True),
        ("pl", "ok!\nERROR", "", False),
        ("pl", "", "an\nERROR\n", False),
        ("rkt", "#t\n", "", True),
        ("rkt", "", RACKUNIT, False),
        ("scala", "printed", "", True),
        ("scala", "", "\n", False),
        ("dart", "ERROR", "ERROR", True),
        ("lua", "ERROR", "ERROR", True),
    ],
)
def test_what_multipl_es_programs_print_counts_where_its_evaluators_look_at_it(
    language: str, stdout: str, stderr: str, passes: bool
) -> None:
    """What the tools print was recorded from Clojure 1.11, Racket 8.7, Perl 5.36 and Scala 2.11."""
    problem = MultiplEProblem(name="HumanEval_0_f", language=language, prompt="", tests="", stop_tokens=[])
    stitch = MultiplE().task(problem, 0, "test", 0).prompt_format
    assert stitch
    assert stitch.passes(stdout, stderr) is passes


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not a regular expression"):
        PromptFormat(language="lua", tests="", stderr="(")
