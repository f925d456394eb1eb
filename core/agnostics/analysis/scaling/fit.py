"""The fit of scaling laws to runs: scales of compute, the near-optimal runs of each, and the power laws through them.

The method is that of section 4.3 of the code world model's paper, which follows Bi et al. 2024 (DeepSeek LLM).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean
from typing import Any

from agnostics.analysis.scaling.power_law import PowerLaw, fit_power_law
from agnostics.store.queries.scaling import ScalingRun
from agnostics.types.errors import UsageError

TOLERANCE = 0.01
"""Runs whose loss is at most this fraction above the best of their scale are near-optimal."""
_SCALE_RANGE = 1.25
"""Runs of one scale have at most this many times the compute of its smallest."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Runs with about the same compute, and those of them that are near-optimal."""

    runs: tuple[ScalingRun, ...]

    @property
    def best(self) -> ScalingRun:
        """The run with the lowest loss."""
        return min(self.runs, key=lambda run: run.loss)

    @property
    def kept(self) -> tuple[ScalingRun, ...]:
        """The runs within 1 % of the best loss."""
        return tuple(run for run in self.runs if run.loss <= (1 + TOLERANCE) * self.best.loss)

    @property
    def compute(self) -> float:
        """The geometric mean of the runs' compute."""
        return geometric_mean(run.compute for run in self.runs)

    def as_dict(self) -> dict[str, Any]:
        """The scale as JSON."""
        kept = {run.run for run in self.kept}
        return {"compute": self.compute, "runs": [{**asdict(run), "kept": run.run in kept} for run in self.runs]}


@dataclass(frozen=True, slots=True)
class ScalingFit:
    """The power laws of the near-optimal batch size in tokens, of the learning rate, and of the best loss."""

    scales: tuple[Scale, ...]
    batch_tokens: PowerLaw
    learning_rate: PowerLaw
    loss: PowerLaw

    def as_dict(self) -> dict[str, Any]:
        """The fit as JSON."""
        laws = {name: asdict(law) for name, law in self.laws.items()}
        return {"scales": [scale.as_dict() for scale in self.scales], "laws": laws}

    @property
    def laws(self) -> dict[str, PowerLaw]:
        """The laws by name."""
        return {"batch_tokens": self.batch_tokens, "learning_rate": self.learning_rate, "loss": self.loss}


def fit_scaling(runs: Sequence[ScalingRun], *, seed: int = 0) -> ScalingFit:
    """Fit batch size and learning rate of the near-optimal runs, and the best loss of each scale, against compute.

    Raises UsageError if the runs were validated on different examples, or are of one scale alone.
    """
    if len({run.validation for run in runs}) > 1:
        raise UsageError(
            "the runs were validated on different examples, so that their losses do not compare; name runs"
        )
    scales = scales_of(runs)
    if len(scales) < 2:
        raise UsageError(
            f"the {len(runs)} runs with a validation loss are of {len(scales)} scale of compute, a fit needs two; "
            "agn scaling design plans them"
        )
    kept = [run for scale in scales for run in scale.kept]
    compute = [run.compute for run in kept]
    best = [scale.best for scale in scales]
    return ScalingFit(
        scales=scales,
        batch_tokens=fit_power_law(compute, [run.batch_tokens for run in kept], seed=seed),
        learning_rate=fit_power_law(compute, [run.learning_rate for run in kept], seed=seed),
        loss=fit_power_law([run.compute for run in best], [run.loss for run in best], seed=seed),
    )


def scales_of(runs: Sequence[ScalingRun]) -> tuple[Scale, ...]:
    """The runs by scale, the smallest compute first."""
    groups = list[list[ScalingRun]]()
    for run in sorted(runs, key=lambda run: run.compute):
        if not groups or run.compute > _SCALE_RANGE * groups[-1][0].compute:
            groups.append([])
        groups[-1].append(run)
    return tuple(Scale(tuple(group)) for group in groups)
