"""pass@k, confidence intervals and significance tests."""

from __future__ import annotations

import itertools
import random
from statistics import fmean

import pytest
from agnostics.util.statistics import (
    bootstrap_interval,
    central_interval,
    mcnemar_p_value,
    paired_rate_interval,
    pass_at_k,
    rate_interval,
    resampled_rates,
    sign_flip_p_value,
    wilson_interval,
)
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_is_the_share_of_draws_of_k_that_hold_a_right_program(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(itertools.combinations(range(n), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(min(draw) < c for draw in draws) / len(draws))


def test_pass_at_k_of_many_samples_is_exact() -> None:
    assert pass_at_k(200, 1, 100) == pytest.approx(0.5)
    assert pass_at_k(10_000, 3, 1) == pytest.approx(0.0003)


@pytest.mark.parametrize(("n", "c", "k"), [(4, 5, 1), (4, -1, 1), (4, 1, 0), (4, 1, 5), (0, 0, 1)])
def test_pass_at_k_raises_for_impossible_counts(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@k"):
        pass_at_k(n, c, k)


def test_the_wilson_interval_has_its_published_values() -> None:
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)  # Newcombe 1998, table I
    assert wilson_interval(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_wilson_interval_holds_the_rate_and_mirrors(case: tuple[int, int]) -> None:
    successes, n = case
    low, high = wilson_interval(successes, n)
    assert 0.0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1.0
    assert wilson_interval(n - successes, n) == pytest.approx((1 - high, 1 - low))


def test_the_bootstrap_interval_is_near_the_normal_one_for_many_tasks() -> None:
    rates = [1.0] * 300 + [0.0] * 700
    low, high = bootstrap_interval(rates)
    half = 1.96 * (0.3 * 0.7 / 1000) ** 0.5
    assert (low, high) == pytest.approx((0.3 - half, 0.3 + half), abs=0.004)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 3))
def test_the_bootstrap_interval_lies_within_the_rates_and_is_deterministic(rates: list[float], seed: int) -> None:
    low, high = bootstrap_interval(rates, seed=seed, resamples=50)
    assert min(rates) - 1e-12 <= low <= high <= max(rates) + 1e-12
    assert (low, high) == bootstrap_interval(rates, seed=seed, resamples=50)


def test_an_interval_without_tasks_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one task"):
        bootstrap_interval([])


FAMILIES, TASKS, SAMPLES = 30, 4, 4


def _covers(rng: random.Random, *, by_family: bool) -> bool:
    """Whether the interval of a simulated evaluation holds the true pass@1, 0.3: each family has a rate of its own."""
    rates, families = list[float](), list[str]()
    for family in range(FAMILIES):
        p = rng.betavariate(0.6, 1.4)  # mean 0.3: many families fail always, some hardly ever
        rates += [fmean(rng.random() < p for _ in range(SAMPLES)) for _ in range(TASKS)]
        families += [str(family)] * TASKS
    low, high = bootstrap_interval(rates, families if by_family else None, seed=rng.getrandbits(32), resamples=200)
    return low <= 0.3 <= high


def test_a_95_percent_interval_by_family_holds_the_true_rate_and_one_by_task_is_too_narrow() -> None:
    rng = random.Random(0)
    by_family, by_task = (fmean(_covers(rng, by_family=held) for _ in range(400)) for held in (True, False))
    assert 0.90 <= by_family <= 0.98
    assert by_task < 0.80


def test_families_of_one_task_each_and_a_single_family_are_resampled_by_task() -> None:
    rates = [0.0, 0.25, 1.0, 0.5]
    by_task = bootstrap_interval(rates)
    assert bootstrap_interval(rates, ["a", "b", "c", "d"]) == by_task
    assert bootstrap_interval(rates, ["a"] * 4) == by_task
    assert bootstrap_interval(rates, [None] * 4) == by_task


def test_the_interval_weighs_every_task_equally_however_large_its_family() -> None:
    rates, families = [1.0] * 30 + [0.0], ["large"] * 30 + [None]
    low, high = bootstrap_interval(rates, families)
    assert (low, high) == (0.0, 1.0)  # each of the two may be all that is drawn
    assert bootstrap_interval([1.0, 1.0, 0.0, 0.0] * 20, ["a", "b", "c", "d"] * 20) == pytest.approx((0.0, 1.0))


def test_the_sign_flip_test_gives_a_family_one_sign() -> None:
    assert sign_flip_p_value([1.0] * 6, ["a", "a", "b", "b", "c", "c"]) == 2 / 8
    assert sign_flip_p_value([1.0] * 3, ["a", "a", "a"]) == 2 / 8
    assert sign_flip_p_value([1.0, 1.0, 1.0], [None, None, "c"]) == 2 / 8


def test_the_sign_flip_test_counts_every_way_to_set_the_signs() -> None:
    assert sign_flip_p_value([1.0, 1.0, 1.0]) == 2 / 8  # +++ and ---
    assert sign_flip_p_value([0.5, 0.25, -0.25]) == 6 / 8  # all but the sums of 0
    assert sign_flip_p_value([0.2, 0.0, -0.2]) == 1.0
    assert sign_flip_p_value([0.0]) == 1.0


def test_the_sign_flip_test_of_many_tasks_is_near_the_normal_one() -> None:
    differences = [1.0] * 60 + [-1.0] * 40  # the sum 20 of 100 signs: 2 standard deviations, with ties 0.0569
    assert sign_flip_p_value(differences, seed=1) == pytest.approx(0.0569, abs=0.008)
    assert sign_flip_p_value([1.0] * 60) == 1 / 10_001
    assert sign_flip_p_value(differences, seed=1) == sign_flip_p_value(differences, seed=1)


def test_a_test_without_tasks_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one task"):
        sign_flip_p_value([])


def test_the_interval_of_a_rate_is_never_a_point() -> None:
    assert rate_interval([0.0] * 6) == wilson_interval(0, 6)
    assert rate_interval([1.0, 0.0, 1.0]) == wilson_interval(2, 3)
    families = ["a", "a", "b", "b", "c", "c"]
    assert rate_interval([1.0] * 6, families) == wilson_interval(3, 3)  # of three families, not of six tasks
    rates = [0.0, 0.5, 0.0, 0.0, 0.25, 1.0]
    assert rate_interval(rates, families, seed=3) == bootstrap_interval(rates, families, seed=3)
    mixed = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0]
    assert rate_interval(mixed, families) == bootstrap_interval(mixed, families)
    with pytest.raises(ValueError, match="at least one task"):
        rate_interval([])


def test_mcnemars_test_has_the_values_of_the_binomial_distribution() -> None:
    assert mcnemar_p_value(9, 1) == 2 * (1 + 10) / 2**10
    assert mcnemar_p_value(1, 9) == mcnemar_p_value(9, 1)
    assert mcnemar_p_value(5, 5) == mcnemar_p_value(0, 0) == 1.0
    assert mcnemar_p_value(3000, 1000) < 1e-200


@given(st.integers(0, 6), st.integers(0, 6))
def test_mcnemars_test_is_the_sign_flip_test_of_pairs(won: int, lost: int) -> None:
    differences = [1.0] * won + [-1.0] * lost + [0.0] * 3
    assert mcnemar_p_value(won, lost) == pytest.approx(sign_flip_p_value(differences))


def test_the_interval_of_a_paired_difference_adds_half_a_pair_to_each_outcome() -> None:
    half = 1.959964 * (7 - 16 / 20) ** 0.5 / 20  # 18 pairs, 5 won and 1 lost
    assert paired_rate_interval(5, 1, 18) == pytest.approx((0.2 - half, 0.2 + half))
    assert paired_rate_interval(0, 0, 78) == pytest.approx((-1.959964 / 80, 1.959964 / 80))
    low, high = paired_rate_interval(80, 0, 80)
    assert 0.9 < low < high <= 1.0
    for won, lost, n in ((3, 2, 4), (-1, 0, 4), (0, 0, 0)):
        with pytest.raises(ValueError, match="an interval needs"):
            paired_rate_interval(won, lost, n)


def test_the_interval_of_a_paired_difference_holds_the_truth_as_often_as_it_says() -> None:
    rng, held = random.Random(0), 0
    for _ in range(2000):
        outcomes = rng.choices([1, -1, 0], [0.15, 0.05, 0.8], k=80)
        low, high = paired_rate_interval(outcomes.count(1), outcomes.count(-1), 80)
        held += low <= 0.1 <= high
    assert 0.935 <= held / 2000 <= 0.97


def test_clusters_are_resampled_as_wholes_within_their_stratum() -> None:
    rates = resampled_rates([[(0, 10), (10, 10)]])
    assert {*rates} == {0.0, 0.5, 1.0}
    assert rates.count(0.5) / len(rates) == pytest.approx(0.5, abs=0.04)
    assert {*resampled_rates([[(2, 10)], [(8, 10)]])} == {0.5}
    assert {*resampled_rates([[(0, 10), (10, 10)], [(10, 10)] * 2])} == {0.5, 0.75, 1.0}
    assert resampled_rates([[(0, 10), (10, 10)]], seed=1) != rates == resampled_rates([[(0, 10), (10, 10)]])


def test_sessions_that_differ_widen_the_interval_that_problems_alone_would_have() -> None:
    """Ten sessions of 80 problems that are solved all together or not at all, and ten that are all alike."""
    together = central_interval(resampled_rates([[(80, 80), (0, 80)] * 5]))
    alike = central_interval(resampled_rates([[(40, 80)] * 10]))
    assert together == pytest.approx((0.2, 0.8))
    assert alike == (0.5, 0.5)
    assert together[1] - together[0] > 5 * (wilson_interval(400, 800)[1] - wilson_interval(400, 800)[0])
