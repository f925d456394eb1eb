"""Complexity classes: their names, and the choice of one for a curve."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from agnostics.complexity import ClassFit, ComplexityClass, Curve, complexity_in, fit_class
from agnostics.complexity.measurement import MEMORY_ERROR_MB, RELATIVE_ERROR, TIME_ERROR_MS, sizes_along

Growth = Callable[[int], float]
GROWTHS: dict[str, tuple[Growth, list[int]]] = {
    "O(1)": (lambda _: 0.0, [4**k for k in range(11)]),
    "O(log n)": (lambda n: math.log2(n), [4**k for k in range(11)]),
    "O(n)": (lambda n: n / 1e4, [4**k for k in range(11)]),
    "O(n log n)": (lambda n: n * math.log2(n) / 2e5, [4**k for k in range(11)]),
    "O(n^2)": (lambda n: n * n / 1e5, [2**k for k in range(13)]),
    "O(n^3)": (lambda n: n**3 / 1e6, [*(2**k for k in range(9)), 360, 500]),
    "O(2^n)": (lambda n: 2**n / 1e5, [1, 5, 9, 12, 15, 18, 20, 22, 23, 24]),
}


def _curve(growth: Growth, sizes: list[int], start_up: float, seed: int) -> Curve:
    draw = random.Random(seed)
    exact = [start_up + growth(size) for size in sizes]
    values = [value * draw.uniform(0.98, 1.03) + draw.uniform(0, 0.2) for value in exact]
    return Curve(sizes, values, TIME_ERROR_MS, RELATIVE_ERROR)


@pytest.mark.parametrize("name", GROWTHS)
@pytest.mark.parametrize("start_up", [1.0, 3.0, 12.0])
@pytest.mark.parametrize("seed", range(5))
def test_each_class_is_named_through_noise_and_a_start_up(name: str, start_up: float, seed: int) -> None:
    growth, sizes = GROWTHS[name]
    scaled = (lambda n: start_up * growth(n)) if name == "O(log n)" else growth
    assert fit_class(_curve(scaled, sizes, start_up, seed)).klass == name


@pytest.mark.parametrize("name", ["O(n log n)", "O(n^2)", "O(n^3)"])
def test_a_linear_part_such_as_reading_does_not_hide_the_class(name: str) -> None:
    growth, sizes = GROWTHS[name]
    largest = growth(sizes[-1]) / sizes[-1]
    assert fit_class(_curve(lambda n: growth(n) + 0.5 * largest * n, sizes, 2.0, 0)).klass == name


def test_data_that_do_not_tell_have_no_class() -> None:
    sizes = [2**k for k in range(10)]
    erratic = [5.0, 90.0, 3.0, 70.0, 2.0, 80.0, 4.0, 60.0, 1.0, 99.0]
    assert fit_class(Curve(sizes, erratic, TIME_ERROR_MS, RELATIVE_ERROR)).klass is None
    linear, _ = GROWTHS["O(n)"]
    assert fit_class(_curve(linear, [1, 2, 4, 8], 1.0, 0)).klass is None, "too few sizes"
    assert fit_class(_curve(linear, [1000, 1001, 1002, 1003, 1004, 1005], 1.0, 0)).klass is None, "one size in effect"
    assert str(fit_class(Curve([], [], TIME_ERROR_MS, RELATIVE_ERROR))) == "unknown"


def test_a_curve_is_within_a_class_if_only_slower_ones_are_in_doubt() -> None:
    weights = {ComplexityClass.LINEAR: 0.5, ComplexityClass.LINEARITHMIC: 0.45, ComplexityClass.QUADRATIC: 0.05}
    fit = ClassFit(None, 0.5, ComplexityClass.LINEAR, 0.01, weights)
    assert [klass for klass in ComplexityClass if fit.is_within(klass)] == list(ComplexityClass)[3:]
    assert not ClassFit(None, 0.0).is_within(ComplexityClass.EXPONENTIAL)


def test_what_grows_less_than_the_measurement_errs_is_constant() -> None:
    sizes = [2**k for k in range(12)]
    peaks = [2.3 + 0.02 * k for k in range(12)]
    assert fit_class(Curve(sizes, peaks, MEMORY_ERROR_MB, RELATIVE_ERROR)).klass is ComplexityClass.CONSTANT


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It is O(n).", "O(n)"),
        ("Not O(n) but O(n^2)", "O(n^2)"),
        ("O(n²)", "O(n^2)"),
        ("O(N*N)", "O(n^2)"),
        ("**O(n**2)**", "O(n^2)"),
        ("$O(n \\log n)$", "O(n log n)"),
        ("O(n log_2 n)", "O(n log n)"),
        ("O(N log(N))", "O(n log n)"),
        ("O(n lg n)", "O(n log n)"),
        ("O(log n)", "O(log n)"),
        ("O(log(n))", "O(log n)"),
        ("\\mathcal{O}(1)", "O(1)"),
        ("Θ(m^3)", "O(n^3)"),
        ("$O(2^{n})$", "O(2^n)"),
        ("O(2ⁿ)", "O(2^n)"),
        ("O(1)", "O(1)"),
        ("O(n * m)", None),
        ("O(sqrt(n))", None),
        ("linear", None),
    ],
)
def test_a_class_is_read_in_the_spellings_that_models_use(text: str, name: str | None) -> None:
    assert complexity_in(text) == name


def test_a_slower_class_is_within_a_faster_one() -> None:
    assert ComplexityClass.LINEAR.is_within(ComplexityClass.LINEARITHMIC)
    assert ComplexityClass.LINEAR.is_within(ComplexityClass.LINEAR)
    assert not ComplexityClass.EXPONENTIAL.is_within(ComplexityClass.CUBIC)


def test_sizes_follow_the_curve_so_that_steep_parts_get_as_many_as_flat_ones() -> None:
    flat = sizes_along({2**k: 1.0 for k in range(41)}, 11)
    assert flat == [2 ** (4 * k) for k in range(11)]
    steep = sizes_along({n: 1.0 + 2**n / 1000 for n in (1, 2, 4, 8, 16, 18, 20, 22, 24)}, 10)
    assert (steep[0], steep[-1]) == (1, 24)
    assert sum(size >= 10 for size in steep) >= 5
