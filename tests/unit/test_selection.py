"""Selection of one completion out of several: votes counted by hand."""

from __future__ import annotations

import pytest
from agnostics.evaluate.selection import Candidate, best_by_tests, majority_vote, selection_accuracy, short_m


def candidate(
    output: str | None, tokens: int = 10, *, right: str = "4", examples: int = 0, generated: int = 0
) -> Candidate:
    return Candidate(output == right, tokens, output, examples, generated)


FIVE, LONG_FIVE, FOUR, LONG_FOUR = candidate("5", 3), candidate("5", 9), candidate("4", 4), candidate("4", 20)
SILENT = candidate(None, 1)


def test_the_most_frequent_output_wins_by_its_shortest_program() -> None:
    assert majority_vote([FIVE, LONG_FOUR, FOUR]) is FOUR
    assert majority_vote([SILENT, SILENT, SILENT, LONG_FOUR]) is LONG_FOUR


def test_between_outputs_of_the_same_frequency_the_shorter_program_wins_and_then_the_earlier() -> None:
    assert majority_vote([FOUR, FIVE]) is FIVE
    assert majority_vote([LONG_FOUR, LONG_FIVE, FIVE, FOUR]) is FIVE
    twins = [candidate("6", 3), FIVE]
    assert majority_vote(twins) is twins[0]


def test_nothing_is_selected_if_nothing_ran() -> None:
    assert majority_vote([]) is None
    assert majority_vote([SILENT]) is None
    assert short_m(3)([SILENT, SILENT]) is None
    assert best_by_tests([]) is None


def test_short_m_takes_the_first_m_to_finish() -> None:
    candidates = [LONG_FOUR, candidate("4", 30), FOUR, FIVE, LONG_FIVE]
    assert majority_vote(candidates) is FOUR
    assert short_m(3)(candidates) is FIVE  # lengths 3, 4, 9: 5, 4, 5
    assert short_m(1)(candidates) is FIVE
    assert short_m(9)(candidates) is FOUR


def test_the_best_passes_most_examples_before_votes_are_counted() -> None:
    passes = candidate("4", 50, examples=1)
    assert best_by_tests([FIVE, FIVE, passes]) is passes
    assert best_by_tests([FIVE, LONG_FIVE, FOUR]) is FIVE


def test_among_those_that_pass_the_examples_the_best_passes_most_tests_that_the_model_wrote() -> None:
    passes = candidate("4", 50, examples=1, generated=3)
    rivals = [candidate("5", examples=1, generated=2)] * 2
    cheat = candidate("6", 1, generated=5)
    assert best_by_tests([*rivals, cheat, passes]) is passes
    assert best_by_tests([*rivals, cheat]) is rivals[0]


def test_a_selection_from_all_is_exact_and_from_one_is_the_fraction_of_accepted_candidates() -> None:
    candidates = [FOUR, FIVE, FIVE, SILENT]
    assert selection_accuracy([FOUR, FOUR, FIVE], 3, majority_vote) == 1.0
    assert selection_accuracy(candidates, 4, majority_vote) == 0.0
    assert selection_accuracy(candidates, 1, majority_vote, seed=1) == pytest.approx(0.25, abs=0.12)
    assert selection_accuracy(candidates, 2, majority_vote, seed=1) == selection_accuracy(
        candidates, 2, majority_vote, seed=1
    )


def test_a_selection_from_more_than_all_candidates_is_an_error() -> None:
    with pytest.raises(ValueError, match="as many candidates"):
        selection_accuracy([FOUR], 2, majority_vote)
