"""Complexity classes: their names, and the choice of one for a curve."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from agnostics.complexity import (
    ClassFit,
    ComplexityClass,
    Curve,
    MeasurementError,
    MeasurementLimits,
    Quantity,
    complexity_in,
    fit_class,
    measure,
)
from agnostics.complexity.measurement import MEMORY_ERROR_MB, RELATIVE_ERROR, TIME_ERROR_MS, Run, sizes_along
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict, Verification

Growth = Callable[[int], float]
GROWTHS: dict[str, tuple[Growth, list[int]]] = {
    "O(1)": (lambda _: 0.0, [4**k for k in range(11)]),
    "O(log n)": (lambda n: math.log2(n), [4**k for k in range(11)]),
    "O(n)": (lambda n: n / 1e4, [4**k for k in range(11)]),
    "O(n log n)": (lambda n: n * math.log2(n) / 2e5, [4**k for k in range(11)]),
    "O(n^2)": (lambda n: n * n / 1e5, [2**k for k in range(13)]),
    "O(n^3)": (lambda n: n**3 / 1e6, [*(2**k for k in range(9)), 360, 500]),
    "O(2^n)": (lambda n: 2.0 ** min(n, 1000) / 1e5, [1, 5, 9, 12, 15, 18, 20, 22, 23, 24]),
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


def _computed(time_ms: Growth, asked: list[Task], peak_mb: Growth = lambda _: 2.0) -> Run:
    """Runs a program whose input is n and whose time and memory follow from it, up to the limit of time."""

    async def run(task: Task) -> Verification:
        asked.append(task)
        results = list[TestResult]()
        for test in task.tests:
            cpu_ms, limit_ms = time_ms(int(test.input)), 1e3 * (task.limits.run_s or 0)
            verdict = Verdict.TIME_LIMIT if cpu_ms > limit_ms else Verdict.ACCEPTED
            stopped = bool(results) and results[-1].verdict is not Verdict.ACCEPTED
            peak = peak_mb(int(test.input))
            results.append(TestResult(Verdict.SKIPPED) if stopped else TestResult(verdict, cpu_ms=cpu_ms, peak_mb=peak))
        return Verification("task", "lua", "", Verdict.ACCEPTED, tuple(results), None, "bubblewrap", 1, 0.0)

    return run


async def _numbers(sizes: Sequence[int]) -> list[str]:
    return [f"{size}\n" for size in sizes]


@pytest.mark.parametrize("name", GROWTHS)
def test_a_measurement_follows_a_program_to_its_class_at_any_steepness(name: str) -> None:
    growth, _ = GROWTHS[name]
    measured = asyncio.run(measure(_computed(lambda n: 1.5 + growth(n), []), _numbers, MeasurementLimits()))
    assert measured.time.klass == name
    assert max(measured.times_ms.values()) <= 200
    assert name in {"O(1)", "O(log n)"} or max(measured.times_ms.values()) > 20
    assert len(measured.times_ms) >= 5


def test_large_inputs_are_made_only_if_the_program_is_fast_enough_for_them() -> None:
    growth, _ = GROWTHS["O(n^2)"]
    asked = list[Task]()
    asyncio.run(measure(_computed(lambda n: 10 * growth(n), asked), _numbers, MeasurementLimits()))
    assert max(int(test.input) for task in asked for test in task.tests) < 1 << 13


def test_a_program_whose_class_is_not_told_is_measured_once_more_for_longer() -> None:
    asked = list[Task]()
    draw = random.Random(0)
    asyncio.run(measure(_computed(lambda _: draw.uniform(1, 100), asked), _numbers, MeasurementLimits(run_s=0.2)))
    assert {task.limits.run_s for task in asked} == {0.2, 0.8, 3.2}
    assert len(asked) == 8  # three probes and the sizes along the curve, twice
    asked.clear()
    asyncio.run(measure(_computed(lambda _: 1.0, asked), _numbers, MeasurementLimits(run_s=0.2)))
    assert len(asked) == 4


@pytest.mark.parametrize(
    ("wanted", "jobs"),
    [(["time"], {0.2: 3, 0.8: 1}), (["space"], {0.2: 3, 0.8: 4}), (["time", "space"], {0.2: 3, 0.8: 4})],
    ids=["time", "space", "both"],
)
def test_only_a_wanted_quantity_whose_class_is_not_told_is_measured_again(
    wanted: list[Quantity], jobs: dict[float, int]
) -> None:
    """The memory is noise; the time is told from the first runs, and kept whatever is measured later."""
    asked, draw = list[Task](), random.Random(0)
    run = _computed(lambda _: 1.0, asked, peak_mb=lambda _: draw.uniform(2, 100))
    measured = asyncio.run(measure(run, _numbers, MeasurementLimits(run_s=0.2), wanted))
    assert Counter(task.limits.run_s for task in asked) == jobs
    assert measured.time.klass == "O(1)"
    assert measured.space.klass is None


def test_memory_that_was_told_is_kept_where_only_the_time_is_measured_again() -> None:
    asked, draw = list[Task](), random.Random(0)
    run = _computed(lambda _: draw.uniform(1, 100), asked, peak_mb=lambda n: 2.0 if len(asked) <= 4 else n)
    measured = asyncio.run(measure(run, _numbers, MeasurementLimits(run_s=0.2)))
    assert len(asked) == 8
    assert (measured.time.klass, measured.space.klass) == (None, "O(1)")


def test_a_sandbox_that_fails_is_no_measurement() -> None:
    async def run(_: Task) -> Verification:
        return Verification("task", "lua", "", Verdict.SANDBOX_ERROR, (), None, "bubblewrap", 3, 0.0, error="gone")

    with pytest.raises(MeasurementError, match="gone"):
        asyncio.run(measure(run, _numbers, MeasurementLimits()))
