"""One answer out of several, without knowing which is right: majority vote, short-m@k and best@k; pure functions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

EXAMPLES = 1
"""How many of a task's tests are taken for those that its statement shows."""
DRAWS = 100
"""How many draws of `k` answers the mean is taken over, where there are more answers than that."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One answer to a task. `output` is what its program said in all tests; None where nothing ran, which has no vote.

    `examples` counts the passed tests among those that a statement shows, `written` those among the tests that the
    model wrote; `tokens` is the answer's length.
    """

    accepted: bool
    tokens: int
    output: str | None
    examples: int = 0
    written: int = 0


Choice = Callable[[Sequence[Candidate]], Candidate | None]
"""Chooses one of some candidates, or none where none has a vote."""


def majority(candidates: Sequence[Candidate]) -> Candidate | None:
    """The shortest candidate of those with the most frequent output (Wang et al. 2022, self-consistency).

    Between outputs of the same frequency the one with the shortest candidate wins (section 7.2 of the CWM paper);
    between equal lengths, the earlier.
    """
    votes = defaultdict[str, list[Candidate]](list)
    for candidate in candidates:
        if candidate.output is not None:
            votes[candidate.output].append(candidate)
    if not votes:
        return None
    shortest = [min(group, key=_tokens) for group in votes.values()]
    return min(shortest, key=lambda chosen: (-len(votes[str(chosen.output)]), chosen.tokens))


def short(m: int) -> Choice:
    """The majority among the `m` shortest candidates: short-m@k (Hassid et al. 2025; section 7.6 of the CWM paper).

    Sampled side by side, these are the first to end, and nothing longer need be sampled.
    """
    return lambda candidates: majority(sorted(candidates, key=_tokens)[:m])


def best(candidates: Sequence[Candidate]) -> Candidate | None:
    """best@k of the CWM paper (section 7.2): of the candidates that pass most of the examples, those that pass most of
    the tests that the model wrote, and the majority among these.
    """
    most = max((_passed(candidate) for candidate in candidates), default=None)
    return majority([candidate for candidate in candidates if _passed(candidate) == most])


def choice_at_k(candidates: Sequence[Candidate], k: int, choose: Choice, *, seed: int | str = 0) -> float:
    """The chance that what `choose` takes out of `k` of the candidates is right.

    All of them where there are `k`, else the mean over 100 random draws. Raises ValueError unless there are `k`.
    """
    if not 1 <= k <= len(candidates):
        raise ValueError(f"a choice of {k} needs as many candidates, not {len(candidates)}")
    if k == len(candidates):
        return _right(choose(candidates))
    rng = random.Random(seed)
    return fmean(_right(choose(rng.sample(candidates, k))) for _ in range(DRAWS))


def _right(chosen: Candidate | None) -> float:
    return float(chosen is not None and chosen.accepted)


def _passed(candidate: Candidate) -> tuple[int, int]:
    return candidate.examples, candidate.written


def _tokens(candidate: Candidate) -> int:
    return candidate.tokens
