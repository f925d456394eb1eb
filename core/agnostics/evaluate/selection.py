"""Selection of one completion out of several without a verdict: majority vote, short-m@k, best@k; pure functions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

EXAMPLES = 1
"""The number of a task's tests that count as examples in its statement."""
DRAWS = 100
"""The number of random draws of `k` candidates to average over if there are more than `k`."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion of a task. `output` is what its program printed in all tests; None has no vote.

    `examples_passed` counts the passed example tests, `generated_passed` the passed tests that the model wrote;
    `tokens` is the length of the completion.
    """

    accepted: bool
    tokens: int
    output: str | None
    examples_passed: int = 0
    generated_passed: int = 0


SelectionRule = Callable[[Sequence[Candidate]], Candidate | None]
"""Selects one of several candidates, or None if none has a vote."""


def majority_vote(candidates: Sequence[Candidate]) -> Candidate | None:
    """The shortest candidate with the most frequent output (Wang et al. 2022, self-consistency).

    Ties between outputs go to the one with the shortest candidate (section 7.2 of the CWM paper), ties between lengths
    to the earlier candidate.
    """
    votes = defaultdict[str, list[Candidate]](list)
    for candidate in candidates:
        if candidate.output is not None:
            votes[candidate.output].append(candidate)
    if not votes:
        return None
    shortest = [min(group, key=_tokens) for group in votes.values()]
    return min(shortest, key=lambda one: (-len(votes[str(one.output)]), one.tokens))


def short_m(m: int) -> SelectionRule:
    """Majority vote of the `m` shortest candidates: short-m@k (Hassid et al. 2025; section 7.6 of the CWM paper).

    Sampled concurrently, these finish first, and the longer ones need not be sampled.
    """
    return lambda candidates: majority_vote(sorted(candidates, key=_tokens)[:m])


def best_by_tests(candidates: Sequence[Candidate]) -> Candidate | None:
    """best@k of the CWM paper (section 7.2): majority vote of the candidates that pass the most tests.

    Example tests come first; the tests that the model wrote break ties.
    """
    most = max((_passed(candidate) for candidate in candidates), default=None)
    return majority_vote([candidate for candidate in candidates if _passed(candidate) == most])


def selection_accuracy(candidates: Sequence[Candidate], k: int, select: SelectionRule, *, seed: int | str = 0) -> float:
    """The probability that the candidate that `select` takes from `k` of the candidates is accepted.

    Exact if there are `k`, else the mean over 100 random draws. Raises ValueError if there are fewer than `k`.
    """
    if not 1 <= k <= len(candidates):
        raise ValueError(f"a selection from {k} needs as many candidates, not {len(candidates)}")
    if k == len(candidates):
        return _accepted(select(candidates))
    rng = random.Random(seed)
    return fmean(_accepted(select(rng.sample(candidates, k))) for _ in range(DRAWS))


def _accepted(selected: Candidate | None) -> float:
    return float(selected is not None and selected.accepted)


def _passed(candidate: Candidate) -> tuple[int, int]:
    return candidate.examples_passed, candidate.generated_passed


def _tokens(candidate: Candidate) -> int:
    return candidate.tokens
