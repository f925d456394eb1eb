"""The check that the engine samples from the policy that is trained: both give a token the same log-probability."""

from __future__ import annotations

from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import RolloutBatch

_PROBE_INTERVAL = 10
"""Steps between probes."""
_FRESH_MULTIPLE = 3.0
"""The tolerated mismatch, as a multiple of a fresh engine's."""


def needs_probe(step: int, batch: RolloutBatch, policy_version: int) -> bool:
    """Whether rollouts have to be sampled for the check: now and then, if the batch has none of this policy version."""
    if (step - 1) % _PROBE_INTERVAL != 0:
        return False
    return not any(policy_version in rollout.sampled_versions for rollout in batch.rollouts)


def check_logprob_mismatch(mismatch: float | None, fresh: float | None, bound: float) -> None:
    """Raise AgnosticsError if engine and trainer give the same tokens different log-probabilities.

    `mismatch` is the mean of |log-probability in the trainer - in the engine| over the tokens of a batch, before its
    first update; None if it was not measured. `fresh` is the mismatch of the engine with the weights that it loaded
    itself, before the trainer sent it any; None if it is unknown. Rounding alone makes both: 1e-6 in float32 and some
    1e-3 in bfloat16. Weights that did not reach the engine show as a larger mismatch, and in nothing else.
    """
    limit = mismatch_limit(fresh, bound)
    if mismatch is not None and not mismatch <= limit:  # NaN too
        before = "" if fresh is None else f"; before the first update it was {fresh:.3g}"
        raise AgnosticsError(
            f"the engine's log-probabilities are {mismatch:.3g} from the trainer's, more than {limit:.3g} "
            f"(train.max_logprob_mismatch = {bound:g}{before}): the engine does not sample from the policy that is "
            "trained; try --set rollout.engine=transformers"
        )


def mismatch_limit(fresh: float | None, bound: float) -> float:
    """The largest tolerated mismatch: three times a fresh engine's, but at least a tenth of `bound` and at most all.

    Rounding does not change with training, the confidence of the policy and the tokens of a batch do. Below a tenth of
    the bound a mismatch is harmless, and a fresh one too small to compare with.
    """
    return bound if fresh is None else min(bound, max(_FRESH_MULTIPLE * fresh, bound / 10))
