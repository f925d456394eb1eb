"""The choice of a complexity class for measured values: least squares for each class, and a penalty of terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

from agnostics.complexity.classes import GROWTH, ORDER, ComplexityClass

MIN_POINTS = 5
MIN_RANGE = 8.0
"""The least ratio of the largest size to the smallest one: less says nothing of growth."""
MIN_CONFIDENCE = 0.7
MAX_ERROR = 0.2
"""The largest root mean square of relative residuals of a class that is named."""
MIN_LEADING_SHARE = 0.25
"""The least part of the growth at the largest size that the class's own term makes; the rest is of slower terms."""
MIN_GROWTH = 4.0
"""The least growth from the smallest to the largest size, in standard errors, of every class but the constant one."""
BASES = tuple(round(1.15 + 0.05 * step, 2) for step in range(58))
"""The bases of the exponential class: up to 4."""

Term = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Curve:
    """Measured values, (N,), at sizes, (N,), with the error of each: `absolute` and `relative` together."""

    sizes: Sequence[int]
    values: Sequence[float]
    absolute: float
    relative: float

    def deviation(self, value: float) -> float:
        """The standard error of a value."""
        return math.hypot(self.absolute, self.relative * value)


@dataclass(frozen=True, slots=True)
class ClassFit:
    """The class of a curve, None if the data do not tell, with the confidence in the best one (0 to 1).

    `best` is the class that fits best, also if it is not named; `error` is the root mean square of its relative
    residuals.
    """

    klass: ComplexityClass | None
    confidence: float
    best: ComplexityClass | None = None
    error: float = 0.0
    weights: Mapping[ComplexityClass, float] = field(default_factory=dict)
    """The confidence in each class."""

    def is_within(self, klass: ComplexityClass) -> bool:
        """Whether the curve grows no faster than `klass`, also if it does not tell slower classes from each other."""
        confidence = sum(weight for other, weight in self.weights.items() if other.is_within(klass))
        return confidence >= MIN_CONFIDENCE and self.error <= MAX_ERROR

    def __str__(self) -> str:
        if self.klass:
            return f"{self.klass} (confidence {self.confidence:.2f})"
        return f"unknown (best {self.best}, confidence {self.confidence:.2f})" if self.best else "unknown"


@dataclass(frozen=True, slots=True)
class _Model:
    """A fitted sum of terms: its score (less is better) and the root mean square of its relative residuals."""

    klass: ComplexityClass
    score: float
    error: float


def fit_class(curve: Curve) -> ClassFit:
    """The complexity class of a curve.

    Each class is a constant, its own term and, if that explains enough, one slower term, with coefficients that are not
    negative. Residuals are in units of the measurement's error. The score is Bayes' information criterion with that
    error as a floor, so that a class with more terms must be clearly better; the confidence in a class is its weight
    exp(-score / 2) among all.
    """
    if len(curve.sizes) < MIN_POINTS or max(curve.sizes) < MIN_RANGE * min(curve.sizes):
        return ClassFit(None, 0.0)
    fitted = [_best_model(klass, curve) for klass in ComplexityClass]
    models = [model for model in fitted if model]
    best = min(models, key=lambda model: (model.score, ORDER[model.klass]))
    likelihoods = {model.klass: math.exp((best.score - model.score) / 2) for model in models}
    weights = {klass: likelihood / sum(likelihoods.values()) for klass, likelihood in likelihoods.items()}
    confidence = weights[best.klass]
    certain = confidence >= MIN_CONFIDENCE and best.error <= MAX_ERROR
    return ClassFit(best.klass if certain else None, confidence, best.klass, best.error, weights)


def _best_model(klass: ComplexityClass, curve: Curve) -> _Model | None:
    models = (_model(klass, terms, free, curve) for terms, free in _sums(klass))
    return min((model for model in models if model), key=lambda model: model.score, default=None)


def _sums(klass: ComplexityClass) -> Iterator[tuple[list[Term], int]]:
    """The sums of terms that a class is fitted with, its own term last, and their number of free parameters."""
    if klass is ComplexityClass.CONSTANT:
        yield [_one], 1
    elif klass is ComplexityClass.EXPONENTIAL:
        for base in BASES:
            yield [_one, lambda n, base=base: base**n], 3  # type: ignore[misc]
    else:
        slower = [GROWTH[other] for other in GROWTH if ORDER[ComplexityClass.LINEAR] <= ORDER[other] < ORDER[klass]]
        for more in chain([()], combinations(slower, 1)):
            yield [_one, *more, GROWTH[klass]], 2 + len(more)


def _one(_: float) -> float:
    return 1.0


def _model(klass: ComplexityClass, terms: list[Term], free: int, curve: Curve) -> _Model | None:
    """The sum of `terms` fitted to a curve; None if a coefficient is negative, or if the last term hardly matters."""
    try:
        columns = [[term(float(size)) for term in terms] for size in curve.sizes]
    except OverflowError:
        return None
    coefficients = _least_squares(columns, curve)
    if coefficients is None or min(coefficients) < 0:
        return None
    largest = max(columns, key=lambda column: column[-1])
    growth = sum(c * x for c, x in zip(coefficients[1:], largest[1:], strict=True))
    least = max(MIN_LEADING_SHARE * growth, MIN_GROWTH * curve.deviation(max(curve.values)))
    if len(terms) > 1 and coefficients[-1] * (largest[-1] - columns[0][-1]) < least:
        return None
    fitted = [sum(c * x for c, x in zip(coefficients, column, strict=True)) for column in columns]
    count = len(curve.values)
    pairs = list(zip(curve.values, fitted, strict=True))
    chi_squared = sum(((value - model) / curve.deviation(value)) ** 2 for value, model in pairs)
    error = math.sqrt(sum(((value - model) / max(value, curve.absolute)) ** 2 for value, model in pairs) / count)
    return _Model(klass, count * math.log(1 + chi_squared / count) + free * math.log(count), error)


def _least_squares(columns: Sequence[Sequence[float]], curve: Curve) -> list[float] | None:
    """The coefficients of least weighted squares, by normal equations of scaled columns; None if they are singular."""
    weights = [1 / curve.deviation(value) for value in curve.values]
    scales = [max(column[term] for column in columns) for term in range(len(columns[0]))]
    if not all(scale > 0 and math.isfinite(scale) for scale in scales):
        return None
    rows = [
        [w * x / scale for x, scale in zip(column, scales, strict=True)]
        for column, w in zip(columns, weights, strict=True)
    ]
    targets = [w * value for w, value in zip(weights, curve.values, strict=True)]
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(len(scales))]
        + [sum(row[i] * target for row, target in zip(rows, targets, strict=True))]
        for i in range(len(scales))
    ]
    solution = _solve(matrix)
    return solution and [value / scale for value, scale in zip(solution, scales, strict=True)]


def _solve(matrix: list[list[float]]) -> list[float] | None:
    """The solution of the linear equations in an augmented matrix, (k, k + 1), by elimination with pivots."""
    size = len(matrix)
    for place in range(size):
        pivot = max(range(place, size), key=lambda row: abs(matrix[row][place]))
        if abs(matrix[pivot][place]) < 1e-12 * max(abs(matrix[0][0]), 1e-300):
            return None
        matrix[place], matrix[pivot] = matrix[pivot], matrix[place]
        for row in range(size):
            if row != place:
                factor = matrix[row][place] / matrix[place][place]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[place], strict=True)]
    return [matrix[place][size] / matrix[place][place] for place in range(size)]
