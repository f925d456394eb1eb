"""One answer out of several: who wins a vote, by hand."""

from __future__ import annotations

import pytest
from agnostics.evaluate.selection import Candidate, best, choice_at_k, majority, short


def candidate(
    output: str | None, tokens: int = 10, *, right: str = "4", examples: int = 0, written: int = 0
) -> Candidate:
    return Candidate(output == right, tokens, output, examples, written)


FIVE, LONG_FIVE, FOUR, LONG_FOUR = candidate("5", 3), candidate("5", 9), candidate("4", 4), candidate("4", 20)
SILENT = candidate(None, 1)


def test_the_most_frequent_output_wins_by_its_shortest_program() -> None:
    assert majority([FIVE, LONG_FOUR, FOUR]) is FOUR
    assert majority([SILENT, SILENT, SILENT, LONG_FOUR]) is LONG_FOUR


def test_between_outputs_of_the_same_frequency_the_shorter_program_wins_and_then_the_earlier() -> None:
    assert majority([FOUR, FIVE]) is FIVE
    assert majority([LONG_FOUR, LONG_FIVE, FIVE, FOUR]) is FIVE
    twins = [candidate("6", 3), FIVE]
    assert majority(twins) is twins[0]


def test_nothing_is_chosen_where_nothing_ran() -> None:
    assert majority([]) is None
    assert majority([SILENT]) is None
    assert short(3)([SILENT, SILENT]) is None
    assert best([]) is None


def test_short_m_looks_at_the_first_m_to_end() -> None:
    candidates = [LONG_FOUR, candidate("4", 30), FOUR, FIVE, LONG_FIVE]
    assert majority(candidates) is FOUR
    assert short(3)(candidates) is FIVE  # lengths 3, 4, 9: 5, 4, 5
    assert short(1)(candidates) is FIVE
    assert short(9)(candidates) is FOUR


def test_the_best_passes_most_examples_before_votes_are_counted() -> None:
    passes = candidate("4", 50, examples=1)
    assert best([FIVE, FIVE, passes]) is passes
    assert best([FIVE, LONG_FIVE, FOUR]) is FIVE


def test_among_those_that_pass_the_examples_the_best_passes_most_tests_that_the_model_wrote() -> None:
    passes = candidate("4", 50, examples=1, written=3)
    rivals = [candidate("5", examples=1, written=2)] * 2
    cheat = candidate("6", 1, written=5)
    assert best([*rivals, cheat, passes]) is passes
    assert best([*rivals, cheat]) is rivals[0]


def test_a_choice_of_all_is_exact_and_of_one_is_the_share_of_right_ones() -> None:
    candidates = [FOUR, FIVE, FIVE, SILENT]
    assert choice_at_k([FOUR, FOUR, FIVE], 3, majority) == 1.0
    assert choice_at_k(candidates, 4, majority) == 0.0
    assert choice_at_k(candidates, 1, majority, seed=1) == pytest.approx(0.25, abs=0.12)
    assert choice_at_k(candidates, 2, majority, seed=1) == choice_at_k(candidates, 2, majority, seed=1)


def test_a_choice_of_more_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="as many candidates"):
        choice_at_k([FOUR], 2, majority)
