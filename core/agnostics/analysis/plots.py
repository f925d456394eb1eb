"""Plots of runs as files: one set that compares them, one for each run by itself, and bars for evaluations."""

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

from agnostics.analysis.curves import Curves, Measured, Series, smoothed
from agnostics.analysis.themes import THEMES, Profile
from agnostics.evaluate.report import Evaluation
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict

# The colours of Okabe and Ito, which colour-blind people tell apart.
_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"
_SKY, _YELLOW, _GREY, _BLACK = "#56b4e9", "#f0e442", "#b0b0b0", "#333333"
_RUNS = (_BLUE, _VERMILION, _GREEN, _PURPLE, _ORANGE, _SKY, _BLACK)
_VERDICTS = {
    Verdict.ACCEPTED: _GREEN,
    Verdict.WRONG_ANSWER: _ORANGE,
    Verdict.RUNTIME_ERROR: _PURPLE,
    Verdict.TIME_LIMIT: _SKY,
    Verdict.OUTPUT_LIMIT: _YELLOW,
    Verdict.MEMORY_LIMIT: _BLUE,
    Verdict.COMPILE_ERROR: _VERMILION,
    Verdict.NO_PROGRAM: _GREY,
    Verdict.SANDBOX_ERROR: _BLACK,
}
_STYLE: dict[Any, Any] = {
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
_LONGEST_NAME = 40
_STEPS = "pale: each step; strong: the mean of the steps around it"


def draw(runs: Sequence[Curves], folder: Path, formats: Iterable[str]) -> list[Path]:
    """Draw `runs` into files of each of the `formats` (png, svg) in `folder`, which is made; their paths.

    Raises AgnosticsError where they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(_STYLE):
            return [path for name, figure in _figures(runs) for path in _save(figure, folder, name, formats)]
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise AgnosticsError(f"{reason}; name another folder with --out") from error


def draw_rates(evaluations: Sequence[Evaluation], path: Path) -> None:
    """Draw the rates of `evaluations` side by side, with their intervals, into `path` (.png or .svg).

    Raises AgnosticsError where it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with rc_context(_STYLE):
            list(_save(_rates(evaluations), path.parent, path.stem, [path.suffix[1:]]))
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror}; name another file with --plot") from error


def _rates(evaluations: Sequence[Evaluation]) -> Figure:
    """A bar for each model and measure, its interval upon it."""
    figure, axes = _blank("Tasks solved", "rate", "with 95 % intervals")
    names = list(dict.fromkeys(name for evaluation in evaluations for name in evaluation.rates))
    width = 0.8 / len(evaluations)
    for place, (evaluation, colour) in enumerate(zip(evaluations, cycle(_RUNS), strict=False)):
        offset = (place - (len(evaluations) - 1) / 2) * width
        at = [names.index(name) + offset for name in evaluation.rates]
        rates = evaluation.rates.values()
        axes.bar(at, [rate.rate for rate in rates], width * 0.9, color=colour, alpha=0.6, label=_label(evaluation))
        axes.vlines(at, [rate.low for rate in rates], [rate.high for rate in rates], color=_BLACK, linewidth=1.0)
    axes.set_xticks(range(len(names)), names)
    axes.set(xlabel=None, ylim=(0, 1))
    return _finished(figure, axes)


def _figures(runs: Sequence[Curves]) -> Iterator[tuple[str, Figure]]:
    """Every figure, with the name of its file."""
    yield "batch-pass-at-1", _compared(runs, "Batch pass@1 in training", "pass@1", lambda run: run.pass_rate)
    if any(run.held_out for run in runs):
        yield "held-out-pass-at-1", _held_out(runs)
    yield "reward", _compared(runs, "Reward in training", "reward of an answer, mean", lambda run: run.reward)
    yield "length", _compared(runs, "Length of answers in training", "length in tokens, mean", lambda run: run.length)
    for run in runs:
        yield f"pass-at-1-{run.run.run}", _both(run)
        yield f"verdicts-{run.run.run}", _verdicts(run)


def _compared(runs: Sequence[Curves], title: str, unit: str, series: Callable[[Curves], Series]) -> Figure:
    """A curve for each run; of the pass rate, figures 5 and 8 of the paper, of the reward its figure 7."""
    figure, axes = _blank(title, unit, _STEPS)
    for run, colour in zip(runs, cycle(_RUNS), strict=False):
        _plot_steps(axes, series(run), colour, _label(run))
    return _finished(figure, axes)


def _held_out(runs: Sequence[Curves]) -> Figure:
    """Held-out pass@1 of each run: figure 9 of the paper."""
    figure, axes = _blank("Held-out pass@1", "pass@1", "with 95 % intervals, by resampling tasks")
    for run, colour in zip(runs, cycle(_RUNS), strict=False):
        _plot_measured(axes, run.held_out, colour, _label(run))
    return _finished(figure, axes)


def _both(run: Curves) -> Figure:
    """What one run solved in training and of held-out tasks: figures 10 to 14 of the paper."""
    figure, axes = _blank("pass@1 in training and on held-out tasks", "pass@1", _label(run))
    _plot_steps(axes, run.pass_rate, _BLUE, f"batch pass@1 in training ({_STEPS})")
    _plot_measured(axes, run.held_out, _VERMILION, "held-out pass@1, with 95 % intervals")
    return _finished(figure, axes)


def _verdicts(run: Curves) -> Figure:
    """The share of each verdict, one on another, from accepted at the bottom."""
    figure, axes = _blank("Verdicts in training", "share of programs", _label(run))
    steps = [*next(iter(run.shares.values()))]
    edges = [steps[0] - 0.5, *steps, steps[-1] + 0.5]
    shares = [[*smoothed(series).values()] for series in run.shares.values()]
    layers = [[values[0], *values, values[-1]] for values in shares]
    names = [verdict.replace("_", " ") for verdict in run.shares]
    axes.stackplot(edges, layers, labels=names, colors=[_VERDICTS[verdict] for verdict in run.shares], linewidth=0)
    axes.set(xlim=(edges[0], edges[-1]), ylim=(0, 1))
    axes.grid(False)
    figure.legend(loc="outside right upper", reverse=True)
    return figure


def draw_radar(profiles: Sequence[Profile], folder: Path, formats: Iterable[str]) -> list[Path]:
    """Draw the themes of `profiles` side by side, into `themes.FORMAT` in `folder`, which is made; the paths.

    Figures 6 and 15 to 19 of the paper. Raises AgnosticsError where they cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with rc_context(_STYLE):
            return list(_save(_radar(profiles), folder, "themes", formats))
    except OSError as error:
        reason = f"{error.filename or folder}: {error.strerror}"
        raise AgnosticsError(f"{reason}; name another folder with --out") from error


def _radar(profiles: Sequence[Profile]) -> Figure:
    """A spoke for each theme, clockwise from the top, and a closed line for each profile."""
    figure = Figure(figsize=(8.0, 7.2))
    axes: Any = figure.add_subplot(projection="polar")
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    angles = [2 * math.pi * place / len(THEMES) for place in range(len(THEMES) + 1)]
    for profile, colour in zip(profiles, cycle(_RUNS), strict=False):
        shares = profile.shares
        axes.plot(angles, [*shares, shares[0]], color=colour, label=f"{_plain(profile.name)} ({len(profile.found)})")
        axes.fill(angles, [*shares, shares[0]], color=colour, alpha=0.12)
    axes.set_xticks(angles[:-1], [fill(theme.name, 18) for theme in THEMES])
    for angle, name in zip(angles, axes.get_xticklabels(), strict=False):
        name.set_horizontalalignment("center" if abs(math.sin(angle)) < 0.1 else "left" if angle < math.pi else "right")
    axes.tick_params(axis="x", pad=10)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylim(bottom=0.0)
    axes.tick_params(axis="y", labelcolor="grey")
    axes.set_rlabel_position(-180.0 / len(THEMES))
    axes.set_title("Themes of mistakes in faulty programs", fontweight="bold", pad=28)
    figure.legend(loc="outside lower center")
    return figure


def _plot_steps(axes: Axes, series: Series, colour: str, label: str) -> None:
    """Every step, pale, and over it the mean of the steps around it."""
    axes.plot([*series], [*series.values()], color=colour, alpha=0.25, linewidth=0.8, zorder=1.5)
    mean = smoothed(series)
    axes.plot([*mean], [*mean.values()], color=colour, label=label)


def _plot_measured(axes: Axes, measured: Mapping[int, Measured], colour: str, label: str) -> None:
    """A point for each measurement, with its interval."""
    if not measured:
        return
    steps, found = [*measured], measured.values()
    rates, low, high = ([getattr(one, name) for one in found] for name in ("pass_at_1", "low", "high"))
    axes.fill_between(steps, low, high, color=colour, alpha=0.12, linewidth=0)
    axes.vlines(steps, low, high, color=colour, linewidth=1.0)
    axes.plot(steps, rates, color=colour, marker="o", markersize=4, label=label)


def _blank(title: str, unit: str, subtitle: str) -> tuple[Figure, Axes]:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontweight="bold", pad=24)
    axes.text(0.0, 1.03, subtitle, transform=axes.transAxes, color=_BLACK)
    axes.set(xlabel="training step", ylabel=unit)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    return figure, axes


def _finished(figure: Figure, axes: Axes) -> Figure:
    """The figure with zero in sight and the legend beside the curves."""
    if axes.dataLim.y0 >= 0.0:
        axes.set_ylim(bottom=0.0)
    curves = len(axes.get_legend_handles_labels()[1])
    figure.legend(loc="outside lower left", ncols=2 if curves > 3 else 1)
    return figure


def _save(figure: Figure, folder: Path, name: str, formats: Iterable[str]) -> Iterator[Path]:
    for ending in formats:
        path = folder / f"{name}.{ending}"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")  # a name may hold what the font does not
            figure.savefig(path, metadata={"Date": None} if ending == "svg" else None)
        yield path


def _label(run: Curves | Evaluation) -> str:
    """Language, model and id of a run."""
    model = PurePath(run.run.model).name
    if len(model) > _LONGEST_NAME:
        model = f"{model[: _LONGEST_NAME // 2]}…{model[-_LONGEST_NAME // 2 :]}"
    text = f"{run.run.language} · {model} · {run.run.run}"
    return _plain(text)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
