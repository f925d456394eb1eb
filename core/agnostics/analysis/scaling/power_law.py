"""Power laws: y = coefficient * x ** exponent, fitted to points, with an interval of the exponent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MIN_INTERVAL_POINTS = 4
"""With fewer points an interval says nothing: three leave one degree of freedom, and 27 resamples of it."""
_RESAMPLES = 2000
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """y = coefficient * x ** exponent; `interval` is the 95 % one of the exponent, None if there are too few points."""

    coefficient: float
    exponent: float
    interval: tuple[float, float] | None
    points: int

    def at(self, x: float) -> float:
        """The value at `x`."""
        return float(self.coefficient * x**self.exponent)


def fit_power_law(x: Sequence[float], y: Sequence[float], *, seed: int = 0) -> PowerLaw:
    """The power law through points with positive `x` and `y`, (N,) each: least squares of log y on log x.

    The interval is the bootstrap-t (Efron and Tibshirani 1993, section 12.5) over resampled residuals (section 9.4),
    each divided by sqrt(1 - leverage): with few points the percentiles of the bootstrap would be too narrow. It is
    deterministic for a seed. Raises ValueError unless there are two different `x`.
    """
    log_x, log_y = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if len(log_x) < 2 or np.ptp(log_x) == 0:
        raise ValueError("a power law needs points at two different x")
    centred = log_x - log_x.mean()
    exponent = float(centred @ log_y / (centred @ centred))
    intercept = float(log_y.mean() - exponent * log_x.mean())
    interval = None
    if len(log_x) >= MIN_INTERVAL_POINTS:
        interval = _interval(centred, log_y, exponent, np.random.default_rng(seed))
    return PowerLaw(float(np.exp(intercept)), exponent, interval, len(log_x))


def _interval(centred: Any, log_y: Any, exponent: float, rng: Any) -> tuple[float, float]:
    """The interval of the slope `exponent` of `log_y` over the `centred` abscissas."""
    error, fitted = _standard_error(centred, log_y[None])[0], log_y.mean() + exponent * centred
    spare = 1 - 1 / len(centred) - centred**2 / (centred @ centred)  # 1 - leverage
    free = spare > _SAME  # the line passes through the only point at its x if all others are at one
    residuals = np.where(free, (log_y - fitted) / np.sqrt(np.where(free, spare, 1)), 0)
    residuals -= residuals.mean()
    drawn = fitted + residuals[rng.integers(len(centred), size=(_RESAMPLES, len(centred)))]
    errors = _standard_error(centred, drawn)
    varied = errors > _SAME * error  # residuals that are all equal have no error to divide by
    if not varied.any():
        return exponent, exponent
    slopes = drawn @ centred / (centred @ centred)
    low, high = np.quantile((slopes[varied] - exponent) / errors[varied], [0.025, 0.975])
    return float(exponent - high * error), float(exponent - low * error)


def _standard_error(centred: Any, log_y: Any) -> Any:
    """The standard error of the slope of each row of `log_y`, (R, N): (R,)."""
    slopes = log_y @ centred / (centred @ centred)
    residuals = log_y - log_y.mean(axis=1, keepdims=True) - slopes[:, None] * centred
    return np.sqrt((residuals**2).sum(axis=1) / (len(centred) - 2) / (centred @ centred))
