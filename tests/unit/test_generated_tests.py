"""Tests that a model writes: which are read in its completions, and which of them are kept."""

from __future__ import annotations

from agnostics.evaluate.generated_tests import KEPT, agreed, can_have, read_tests
from agnostics.types.task import Comparison, PromptFormat, Task, Test


def written(*pairs: tuple[str, str]) -> str:
    return "\n".join(f"```input\n{given}\n```\n```output\n{expected}\n```" for given, expected in pairs)


def made(*pairs: tuple[str, str]) -> list[Test]:
    return [Test(input=given, output=expected) for given, expected in pairs]


def test_each_block_of_input_belongs_to_the_output_that_follows_it() -> None:
    both = written(("1 2", "3"), ("4\n5", "9"))
    assert read_tests(f"Sure!\n{both}\nGood luck.") == made(("1 2\n", "3\n"), ("4\n5\n", "9\n"))
    assert read_tests("```input\n```\n```output\n0\n```") == made(("", "0\n"))


def test_what_is_no_pair_is_no_test() -> None:
    assert read_tests("") == []
    assert read_tests("```input\n1\n```\n```input\n2\n```\n```output\n3\n```") == made(("2\n", "3\n"))
    assert read_tests("```output\n3\n```\n```input\n1\n```") == []
    assert read_tests("```lua\nprint(1)\n```\n```output\n3\n```") == []
    assert read_tests("```input\n1\n```\n```output\n2") == []
    assert read_tests(written(("1" * 20_000, "2"), ("1", "2"))) == made(("1\n", "2\n"))


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    assert read_tests(written(("\ud800", "2"))) == made(("?\n", "2\n"))


def test_a_long_completion_of_blocks_that_never_end_is_read_in_one_pass() -> None:
    assert read_tests("```input\n" * 500_000) == []


def test_the_tests_that_most_completions_hold_are_kept() -> None:
    rare, common, other = ("7", "8"), ("1", "2"), ("3", "4")
    completions = [made(rare), made(other, common), made(common), made(common, other)]
    assert agreed(completions, ()) == tuple(made(common, other, rare))
    many = made(*((str(n), "0") for n in range(9)))
    assert agreed([many, many[3:]], ()) == tuple([*many[3:], many[0]][:KEPT])


def test_an_input_has_the_output_that_most_completions_give_it() -> None:
    completions = [made(("1", "2"), ("1", "2")), made(("1", "3")), made((" 1\n", "3 "))]
    assert agreed(completions, ()) == tuple(made(("1", "3")))


def test_what_the_statement_shows_is_no_news() -> None:
    assert agreed([made(("1 2", "3"), ("2 2", "4"))], made(("1  2\n", "3\n"))) == tuple(made(("2 2", "4")))


def test_tests_are_written_only_where_outputs_are_compared() -> None:
    task = Task(id="a", tests=(Test(input="", output=""),))
    assert can_have(task)
    assert not can_have(task.model_copy(update={"compare": Comparison(mode="nothing")}))
    assert not can_have(task.model_copy(update={"prompt_format": PromptFormat(language="lua", tests="")}))
