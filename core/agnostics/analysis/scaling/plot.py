"""The plot of scaling laws: every run, the near-optimal ones, and the laws through them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agnostics.analysis.plots import BLUE, GREY, STYLE, VERMILION, save_figure
from agnostics.analysis.scaling.fit import ScalingFit
from agnostics.analysis.scaling.power_law import PowerLaw
from agnostics.store.queries.scaling import ScalingRun
from agnostics.types.errors import AgnosticsError

_PANELS: dict[str, tuple[str, Callable[[ScalingRun], float]]] = {
    "batch_tokens": ("batch size in tokens", lambda run: run.batch_tokens),
    "learning_rate": ("learning rate", lambda run: run.learning_rate),
    "loss": ("validation loss", lambda run: run.loss),
}


def plot_scaling(fitted: ScalingFit, path: Path) -> None:
    """Plot batch size, learning rate and loss against compute into `path` (.png or .svg), as figure 14.30 of the paper.

    Raises AgnosticsError if it cannot be written.
    """
    with rc_context({**STYLE, "text.parse_math": True}):  # logarithmic ticks are powers of ten
        figure = Figure(figsize=(12.0, 4.4))
        for axes, (name, (unit, value)) in zip(figure.subplots(1, 3), _PANELS.items(), strict=True):
            _panel(axes, fitted, fitted.laws[name], unit, value)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=3)
        try:
            list(save_figure(figure, path.parent, path.stem, [path.suffix[1:]]))
        except OSError as error:
            raise AgnosticsError(f"{path}: {error.strerror}; name another file with --plot") from error


def _panel(axes: Axes, fitted: ScalingFit, law: PowerLaw, unit: str, value: Callable[[ScalingRun], float]) -> None:
    every = [run for scale in fitted.scales for run in scale.runs]
    kept = [run for scale in fitted.scales for run in scale.kept]
    ends = [min(run.compute for run in every), max(run.compute for run in every)]
    axes.loglog([run.compute for run in every], list(map(value, every)), "o", color=GREY, markersize=4, label="runs")
    near = "runs within 1 % of the best validation loss of their scale"
    axes.loglog([run.compute for run in kept], list(map(value, kept)), "o", color=BLUE, markersize=5, label=near)
    axes.loglog(ends, list(map(law.at, ends)), color=VERMILION, label="power law")
    axes.set(xlabel="compute in floating point operations", ylabel=unit)
    axes.set_title(f"exponent {law.exponent:.3f}{_interval(law)}", loc="left")


def _interval(law: PowerLaw) -> str:
    return "" if law.interval is None else " ({:.3f} to {:.3f})".format(*law.interval)
