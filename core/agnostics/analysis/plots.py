"""Plots of runs as files: figures that compare runs, figures of each run, and bar charts of rates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path, PurePath
from textwrap import fill
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from agnostics.analysis.curves import LossCurves, RunCurves, Series, smooth
from agnostics.analysis.rates import RateEstimate
from agnostics.analysis.themes import THEMES, ThemeProfile
from agnostics.store.queries.runs import RunSummary
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict

# The palette of Okabe and Ito, which is safe for colour-blind readers.
BLUE, VERMILION, _GREEN, _PURPLE, _ORANGE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"
_SKY, _YELLOW, GREY, _BLACK = "#56b4e9", "#f0e442", "#b0b0b0", "#333333"
_COLOURS = (BLUE, VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK)
_VERDICT_COLOURS = {
    Verdict.ACCEPTED: _GREEN,
    Verdict.WRONG_ANSWER: _ORANGE,
    Verdict.RUNTIME_ERROR: _PURPLE,
    Verdict.TIME_LIMIT: _SKY,
    Verdict.OUTPUT_LIMIT: _YELLOW,
    Verdict.MEMORY_LIMIT: BLUE,
    Verdict.COMPILE_ERROR: VERMILION,
    Verdict.NO_PROGRAM: GREY,
    Verdict.SANDBOX_ERROR: _BLACK,
}
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "figure.dpi": 150,
    "figure.figsize": (8.0, 4.8),
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "agnostics",  # the same plot is the same file
    "text.parse_math": False,  # a dollar in a name is a dollar
}
"""Settings of matplotlib for every figure."""
_MAX_NAME_CHARS = 40
_LINES = "pale: each step; strong: moving average"


Rates = Mapping[str, RateEstimate]
"""The rates of an evaluation by name: pass@k and selections among k."""


def plot_runs(
    runs: Sequence[RunCurves], losses: Sequence[LossCurves], folder: Path, formats: Iterable[str]
) -> list[Path]:
    """Plot `runs`, and the `losses` of supervised ones, into files of each of the `formats` (png, svg) in `folder`.

    The folder is created; returns the paths of the files. Raises AgnosticsError if they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            figures = [*(_figures(runs) if runs else ()), *([("loss", _losses(losses))] if losses else ())]
            return [path for name, figure in figures for path in save_figure(figure, folder, name, formats)]
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise AgnosticsError(f"{reason}; name another folder with --out") from error


def plot_rates(evaluations: Sequence[tuple[RunSummary, Rates]], path: Path) -> None:
    """Plot the rates of evaluations side by side, with their intervals, into `path` (.png or .svg).

    Raises AgnosticsError if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        plot_bars("Tasks solved", "with 95 % intervals", [(_label(run), rates) for run, rates in evaluations], path)
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror}; name another file with --plot") from error


def plot_bars(title: str, subtitle: str, groups: Sequence[tuple[str, Rates]], path: Path) -> None:
    """Plot a bar for each rate with its 95 % interval, a colour for each group, into `path` (.png or .svg).

    Raises OSError if it cannot be written.
    """
    with rc_context(STYLE):
        list(save_figure(_rate_bars(title, subtitle, groups), path.parent, path.stem, [path.suffix[1:]]))


def _rate_bars(title: str, subtitle: str, groups: Sequence[tuple[str, Rates]]) -> Figure:
    figure, axes = _empty_axes(title, "rate", subtitle)
    names = list(dict.fromkeys(name for _, rates in groups for name in rates))
    width = 0.8 / len(groups)
    for place, ((label, rates), colour) in enumerate(zip(groups, cycle(_COLOURS), strict=False)):
        offset = (place - (len(groups) - 1) / 2) * width
        at = [names.index(name) + offset for name in rates]
        heights, low, high = _columns(rates.values())
        axes.bar(at, heights, width * 0.9, color=colour, alpha=0.6, label=_printable(label))
        axes.vlines(at, low, high, color=_BLACK, linewidth=1.0)
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel=None, ylim=(0, 1))
    return _finished(figure, axes)


def _figures(runs: Sequence[RunCurves]) -> Iterator[tuple[str, Figure]]:
    """Every figure with the name of its file."""
    yield "batch-pass-at-1", _run_lines(runs, "Batch pass@1 in training", "pass@1", lambda run: run.pass_rate)
    if any(run.held_out for run in runs):
        yield "held-out-pass-at-1", _held_out(runs)
    yield "reward", _run_lines(runs, "Reward in training", "mean reward of a completion", lambda run: run.reward)
    title, unit = "Completion length in training", "mean length in tokens"
    yield "length", _run_lines(runs, title, unit, lambda run: run.completion_length)
    for run in runs:
        yield f"pass-at-1-{run.run.run}", _training_and_held_out(run)
        yield f"verdicts-{run.run.run}", _verdict_stack(run)


def _losses(runs: Sequence[LossCurves]) -> Figure:
    """The loss of supervised runs in training, and points for that on validation examples."""
    figure, axes = _empty_axes("Loss", "nats per token", _LINES)
    for run, colour in zip(runs, cycle(_COLOURS), strict=False):
        _plot_steps(axes, run.loss, colour, _label(run.run))
        if run.validation:
            steps, losses = [*run.validation], [*run.validation.values()]
            axes.plot(steps, losses, "o", color=colour, markersize=5, label="on its validation examples")
    return _finished(figure, axes)


def _run_lines(runs: Sequence[RunCurves], title: str, unit: str, series: Callable[[RunCurves], Series]) -> Figure:
    """A curve for each run; figures 5 and 8 of the paper for the pass rate, figure 7 for the reward."""
    figure, axes = _empty_axes(title, unit, _LINES)
    for run, colour in zip(runs, cycle(_COLOURS), strict=False):
        _plot_steps(axes, series(run), colour, _label(run.run))
    return _finished(figure, axes)


def _held_out(runs: Sequence[RunCurves]) -> Figure:
    """Held-out pass@1 of each run: figure 9 of the paper."""
    figure, axes = _empty_axes("Held-out pass@1", "pass@1", "with 95 % intervals from resampling families")
    for run, colour in zip(runs, cycle(_COLOURS), strict=False):
        _plot_estimates(axes, run.held_out, colour, _label(run.run))
    return _finished(figure, axes)


def _training_and_held_out(run: RunCurves) -> Figure:
    """pass@1 of one run in training and on held-out tasks: figures 10 to 14 of the paper."""
    figure, axes = _empty_axes("pass@1 in training and on held-out tasks", "pass@1", _label(run.run))
    _plot_steps(axes, run.pass_rate, BLUE, f"batch pass@1 in training ({_LINES})")
    _plot_estimates(axes, run.held_out, VERMILION, "held-out pass@1, with 95 % intervals")
    return _finished(figure, axes)


def _verdict_stack(run: RunCurves) -> Figure:
    """The fraction of each verdict as a stacked area, from accepted at the bottom."""
    figure, axes = _empty_axes("Verdicts in training", "fraction of programs", _label(run.run))
    steps = [*next(iter(run.verdict_fractions.values()))]
    edges = [steps[0] - 0.5, *steps, steps[-1] + 0.5]
    fractions = [[*smooth(series).values()] for series in run.verdict_fractions.values()]
    layers = [[values[0], *values, values[-1]] for values in fractions]
    names = [verdict.replace("_", " ") for verdict in run.verdict_fractions]
    axes.stackplot(
        edges,
        layers,
        labels=names,
        colors=[_VERDICT_COLOURS[verdict] for verdict in run.verdict_fractions],
        linewidth=0,
    )
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1))
    axes.grid(False)
    figure.legend(loc="outside right upper", reverse=True)
    return figure


def plot_themes(profiles: Sequence[ThemeProfile], folder: Path, formats: Iterable[str]) -> list[Path]:
    """Plot the themes of `profiles` side by side into `themes.FORMAT` in `folder`, which is created; returns the paths.

    Figures 6 and 15 to 19 of the paper. Raises AgnosticsError if they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(STYLE):
            return list(save_figure(_radar(profiles), folder, "themes", formats))
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise AgnosticsError(f"{reason}; name another folder with --out") from error


def _radar(profiles: Sequence[ThemeProfile]) -> Figure:
    """A spoke for each theme, clockwise from the top, and a closed line for each profile."""
    figure = Figure(figsize=(8.0, 7.2))
    axes: Any = figure.add_subplot(projection="polar")
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    angles = [2 * math.pi * place / len(THEMES) for place in range(len(THEMES) + 1)]
    for profile, colour in zip(profiles, cycle(_COLOURS), strict=False):
        values = [*profile.fractions, profile.fractions[0]]
        axes.plot(angles, values, color=colour, label=f"{_printable(profile.name)} ({len(profile.labels)})")
        axes.fill(angles, values, color=colour, alpha=0.12)
    axes.set_xticks(angles[:-1], [fill(theme.name, 18) for theme in THEMES])
    for angle, name in zip(angles, axes.get_xticklabels(), strict=False):
        name.set_horizontalalignment("center" if abs(math.sin(angle)) < 0.1 else "left" if angle < math.pi else "right")
    axes.tick_params(axis="x", pad=10)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylim(bottom=0.0)
    axes.tick_params(axis="y", labelcolor="grey")
    axes.set_rlabel_position(-180.0 / len(THEMES))
    axes.set_title("Themes of mistakes in failed programs", fontweight="bold", pad=28)
    figure.legend(loc="outside lower center")
    return figure


def _plot_steps(axes: Axes, series: Series, colour: str, label: str) -> None:
    """Every step in a pale colour, and the moving average over it."""
    axes.plot([*series], [*series.values()], color=colour, alpha=0.25, linewidth=0.8, zorder=1.5)
    mean = smooth(series)
    axes.plot([*mean], [*mean.values()], color=colour, label=label)


def _plot_estimates(axes: Axes, estimates: Mapping[int, RateEstimate], colour: str, label: str) -> None:
    """A point for each estimate, with its interval."""
    if not estimates:
        return
    steps = [*estimates]
    rates, low, high = _columns(estimates.values())
    axes.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.vlines(steps, low, high, color=colour, linewidth=1.0)
    axes.plot(steps, rates, color=colour, marker="o", markersize=4, label=label)


def _columns(estimates: Iterable[RateEstimate]) -> tuple[list[float], list[float], list[float]]:
    """The rates, and the low and the high ends of their intervals."""
    rows = [(estimate.rate, estimate.low, estimate.high) for estimate in estimates]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _empty_axes(title: str, unit: str, subtitle: str) -> tuple[Figure, Axes]:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontweight="bold", pad=24)
    axes.text(0.0, 1.03, subtitle, transform=axes.transAxes, color=_BLACK)
    axes.set(xlabel="training step", ylabel=unit)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    """The figure with zero in view and a legend below the axes."""
    if axes.dataLim.y0 >= 0.0:
        axes.set_ylim(bottom=0.0)
    curves = len(axes.get_legend_handles_labels()[1])
    figure.legend(loc="outside lower left", ncols=2 if curves > 3 else 1)
    return figure


def save_figure(figure: Figure, folder: Path, name: str, formats: Iterable[str]) -> Iterator[Path]:
    """Write the figure in each of the `formats`; yields the paths."""
    for ending in formats:
        path = folder / f"{name}.{ending}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a name may hold what the font does not
            figure.savefig(path, metadata={"Date": None} if ending == "svg" else None)
        yield path


def _label(run: RunSummary) -> str:
    """Language, model and id of a run."""
    model = PurePath(run.model).name
    if len(model) > _MAX_NAME_CHARS:
        model = f"{model[: _MAX_NAME_CHARS // 2]}…{model[-_MAX_NAME_CHARS // 2 :]}"
    return _printable(f"{run.language} · {model} · {run.run}")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
