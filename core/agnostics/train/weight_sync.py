"""Weights from the trainer to the engine, and the alarm for when they disagree."""

from __future__ import annotations

from agnostics.inference.engine import Engine
from agnostics.rollout.engine_loop import Sampler
from agnostics.train.policy import Policy
from agnostics.types.errors import AgnosticsError


def synchronise(policy: Policy, engine: Engine | Sampler) -> None:
    """Let `engine` go on with the policy as it is now."""
    engine.load_weights(policy.weights(), policy.version)


def check_gap(gap: float, bound: float) -> None:
    """Raise AgnosticsError where engine and trainer give the same tokens different log-probabilities.

    `gap` is the mean of |log-probability in the trainer - in the engine| over the tokens of a batch, before its first
    update. Rounding makes it 1e-6 in float32 and some 1e-3 in bfloat16; weights that did not arrive make it 0.1 and
    more, and nothing else would say so.
    """
    if not gap <= bound:  # NaN too
        raise AgnosticsError(
            f"the engine's log-probabilities are {gap:.3g} from the trainer's, more than "
            f"train.max_logprob_mismatch = {bound:g}: "
            "the engine does not sample from the policy that is trained; try --set rollout.engine=transformers"
        )
