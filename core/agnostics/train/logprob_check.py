"""The log-probability check: raises an alarm if the engine does not sample from the policy that is trained."""

from __future__ import annotations

from agnostics.types.errors import AgnosticsError
from agnostics.types.rollout import RolloutBatch

_PROBE_INTERVAL = 10
"""Steps between probes."""


def needs_probe(step: int, batch: RolloutBatch, policy_version: int) -> bool:
    """Whether rollouts have to be sampled for the check: now and then, if the batch has none of this policy version."""
    if (step - 1) % _PROBE_INTERVAL != 0:
        return False
    return not any(policy_version in rollout.sampled_versions for rollout in batch.rollouts)


def check_logprob_mismatch(mismatch: float | None, bound: float) -> None:
    """Raise AgnosticsError if engine and trainer give the same tokens different log-probabilities.

    `mismatch` is the mean of |log-probability in the trainer - in the engine| over the tokens of a batch, before its
    first update; None if it was not measured. Rounding makes it 1e-6 in float32 and some 1e-3 in bfloat16; weights that
    did not reach the engine make it 0.1 and more, without any other sign.
    """
    if mismatch is not None and not mismatch <= bound:  # NaN too
        raise AgnosticsError(
            f"the engine's log-probabilities are {mismatch:.3g} from the trainer's, more than "
            f"train.max_logprob_mismatch = {bound:g}: the engine does not sample from the policy that is trained; "
            "try --set rollout.engine=transformers"
        )
