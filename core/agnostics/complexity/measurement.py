"""Runs of a program at growing sizes: first until a time limit, then again at sizes along the curve that was seen."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from agnostics.complexity.fit import ClassFit, Curve, fit_class
from agnostics.types.errors import AgnosticsError
from agnostics.types.task import Comparison, LimitOverrides, Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification

Run = Callable[[Task], Awaitable[Verification]]
"""Runs the program on the tests of a task, up to the first one that fails."""
Inputs = Callable[[Sequence[int]], Awaitable[Sequence[str]]]
"""The inputs of these sizes."""
Quantity = Literal["time", "space"]
QUANTITIES: tuple[Quantity, ...] = ("time", "space")

TIME_ERROR_MS, MEMORY_ERROR_MB = 0.15, 0.3
"""The error of a processor time and of a peak, beside the relative one: what runs of the same input differ by."""
RELATIVE_ERROR = 0.025
LONGER = 4.0
"""The factor of the limit of a second measurement."""
_PROBES = (range(13), range(13, 21), range(21, 64))
"""The exponents of two that are probed in one job; the inputs of the next one are made only if it is reached."""
_STEEP = 0.1
"""A time at the last size, relative to the limit, that leaves room for several sizes before the double of it."""


class MeasurementError(AgnosticsError):
    """The sandbox failed, which says nothing of the program."""


@dataclass(frozen=True, slots=True)
class MeasurementLimits:
    """The limits of a measurement."""

    run_s: float = 0.2
    """Processor seconds of the longest run."""
    memory_mb: int = 512
    points: int = 10
    """Sizes at which time is measured."""
    repeats: int = 3
    """Runs at each size, of which the least counts."""
    largest: int = 1 << 40
    """The largest size."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Processor times (ms) by size, the least of several runs, and peaks of memory (MiB) at powers of two."""

    times_ms: dict[int, float] = field(default_factory=dict)
    peaks_mb: dict[int, float] = field(default_factory=dict)

    @property
    def time(self) -> ClassFit:
        """The class of the processor time."""
        return fit_class(Curve(list(self.times_ms), list(self.times_ms.values()), TIME_ERROR_MS, RELATIVE_ERROR))

    @property
    def space(self) -> ClassFit:
        """The class of the peak of memory."""
        return fit_class(Curve(list(self.peaks_mb), list(self.peaks_mb.values()), MEMORY_ERROR_MB, RELATIVE_ERROR))

    def fit(self, quantity: Quantity) -> ClassFit:
        """The class of a quantity."""
        return self.time if quantity == "time" else self.space


async def measure(
    run: Run, inputs: Inputs, limits: MeasurementLimits, wanted: Collection[Quantity] = QUANTITIES
) -> Measurement:
    """Measure a program that `run` runs. Raises MeasurementError if the sandbox fails.

    The time at the smallest sizes is the start of the language, which is a constant of every class that is fitted. Time
    is that of the processor, so that other programs hardly change it; the runs of one size are far apart. If the class
    of a wanted quantity is not told, that quantity is measured once more with a longer limit, which leads to larger
    sizes.
    """
    measured = await _Measurer(run, inputs, limits).measure()
    missing = [quantity for quantity in wanted if measured.fit(quantity).klass is None]
    if not measured.times_ms or not missing:
        return measured
    longer = _Measurer(run, inputs, replace(limits, run_s=LONGER * limits.run_s))
    if "time" not in missing:
        probed, _ = await longer.probe()
        return replace(measured, peaks_mb=_peaks_mb(probed))
    again = await longer.measure()
    return again if "space" in missing else replace(again, peaks_mb=measured.peaks_mb)


def _peaks_mb(probed: Mapping[int, TestResult]) -> dict[int, float]:
    return {size: result.peak_mb for size, result in probed.items()}


def sizes_along(times: dict[int, float], count: int) -> list[int]:
    """At most `count` sizes from the smallest to the largest one of a curve, evenly spaced along it.

    Its length is that of both logarithms, each scaled to 1: flat parts get sizes, and steep ones as many.
    """
    sizes = sorted(times)
    highest = [max(times[other] for other in sizes[: place + 1]) for place in range(len(sizes))]
    widths = [math.log(sizes[-1] / sizes[0]) or 1.0, math.log(highest[-1] / highest[0]) if highest[0] > 0 else 0.0]
    widths[1] = max(widths[1], 1.0)  # the noise of a flat curve is no growth
    lengths = [0.0]
    for place in range(1, len(sizes)):
        steps = math.log(sizes[place] / sizes[place - 1]), math.log(highest[place] / max(highest[place - 1], 1e-9))
        lengths.append(lengths[-1] + sum(step / width for step, width in zip(steps, widths, strict=True)))
    wanted = [lengths[-1] * place / (count - 1) for place in range(count)]
    return sorted({_size_at(sizes, lengths, length) for length in wanted})


def _size_at(sizes: Sequence[int], lengths: Sequence[float], length: float) -> int:
    for place in range(1, len(sizes)):
        if length <= lengths[place]:
            part = (length - lengths[place - 1]) / ((lengths[place] - lengths[place - 1]) or 1.0)
            return round(sizes[place - 1] * math.pow(sizes[place] / sizes[place - 1], part))
    return sizes[-1]


@dataclass(frozen=True, slots=True)
class _Measurer:
    """Runs one program at sizes."""

    run: Run
    inputs: Inputs
    limits: MeasurementLimits

    async def measure(self) -> Measurement:
        """Measure the program."""
        probed, failed_at = await self.probe()
        peaks = _peaks_mb(probed)
        if failed_at and probed and probed[max(probed)].cpu_ms < _STEEP * 1e3 * self.limits.run_s:
            probed |= await self.refine(max(probed), failed_at)
        if not probed:
            return Measurement()
        times = {size: result.cpu_ms for size, result in probed.items()}
        return Measurement(await self.times(sizes_along(times, self.limits.points)), peaks)

    async def probe(self) -> tuple[dict[int, TestResult], int | None]:
        """The runs at powers of two up to the first that fails, and its size; None if none does."""
        probed = dict[int, TestResult]()
        for exponents in _PROBES:
            sizes = [1 << exponent for exponent in exponents if 1 << exponent <= self.limits.largest]
            ended = await self._ended(sizes, self.limits.run_s) if sizes else {}
            probed |= ended
            if len(ended) < len(sizes):
                return probed, sizes[len(ended)]
        return probed, None

    async def refine(self, last: int, failed_at: int) -> dict[int, TestResult]:
        """The runs at sizes between the last that ended and the first that did not."""
        step = max(1, (failed_at - last) // 16)
        return await self._ended(range(last + step, failed_at, step), self.limits.run_s)

    async def times(self, sizes: Sequence[int]) -> dict[int, float]:
        """The least processor time of several runs at each size at which the program ends."""
        results = await self._run([*sizes] * self.limits.repeats, 4 * self.limits.run_s)
        times = dict[int, float]()
        for size, result in zip([*sizes] * self.limits.repeats, results, strict=False):
            if result.verdict is Verdict.ACCEPTED:
                times[size] = min(result.cpu_ms, times.get(size, math.inf))
        return times

    async def _ended(self, sizes: Sequence[int], run_s: float) -> dict[int, TestResult]:
        results = takewhile(lambda result: result.verdict is Verdict.ACCEPTED, await self._run(sizes, run_s))
        return dict(zip(sizes, results, strict=False))

    async def _run(self, sizes: Sequence[int], run_s: float) -> tuple[TestResult, ...]:
        tests = tuple(Test(input=text, output="") for text in await self.inputs(sizes))
        limits = LimitOverrides(run_s=run_s, memory_mb=self.limits.memory_mb)
        task = Task(id="complexity", tests=tests, compare=Comparison(mode="nothing"), limits=limits)
        verification = await self.run(task)
        if verification.verdict is Verdict.SANDBOX_ERROR:
            raise MeasurementError(verification.error or "the sandbox failed")
        return verification.tests
