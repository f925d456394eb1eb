"""`agn scaling fit`: fit scaling laws to the runs of a results database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.output_files import require_writable
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import MissingRequirement
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.analysis.scaling.fit import Scale, ScalingFit
    from agnostics.analysis.scaling.power_law import PowerLaw
    from agnostics.store.queries.scaling import ScalingRun

_NAMES = {"batch_tokens": "batch size in tokens", "learning_rate": "learning rate", "loss": "validation loss"}


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw the runs and the laws into this file (.png or .svg)."
)
@click.option("--seed", default=0, show_default=True, help="Decides the resamples of the intervals.")
@store_option
@json_option
def fit(runs: tuple[str, ...], plot: Path | None, seed: int, store: str | None, as_json: bool) -> None:
    """Fit power laws of batch size, learning rate and loss against compute.

    To each RUN of `agn sft`, by default to all finished ones. A law of batch size and learning rate is through the runs
    within 1 % of the best validation loss at their scale of compute, that of the loss through the best.
    """
    from agnostics.store.queries.runs import find_run
    from agnostics.store.queries.scaling import scaling_runs

    try:
        from agnostics.analysis.scaling.fit import fit_scaling
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[scaling]'") from error
    if plot:
        require_writable(plot, True, (".png", ".svg"))
    with reading(store) as connection:
        points, without_loss = scaling_runs(connection, [find_run(connection, run) for run in runs])
    if without_loss:
        console.print(f"{plural(without_loss, 'run')} left out: no finite validation loss after the last step")
    fitted = fit_scaling(points, seed=seed)
    if plot:
        _draw(fitted, plot)
    if as_json:
        print_json(fitted.as_dict())
    else:
        _print(fitted)


def _draw(fitted: ScalingFit, path: Path) -> None:
    try:
        from agnostics.analysis.scaling.plot import plot_scaling
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
    plot_scaling(fitted, path)


def _print(fitted: ScalingFit) -> None:
    columns = ["compute", "runs", "within 1 %", "best loss", "batch size", "learning rate"]
    print_table(columns, map(_scale, fitted.scales))
    click.echo()
    print_table(["", "law", "95 % of the exponent", "runs"], _laws(fitted))


def _scale(scale: Scale) -> list[Any]:
    kept = scale.kept
    batch_tokens, learning_rate = _spread(kept, lambda run: run.batch_tokens), _spread(kept, lambda r: r.learning_rate)
    return [
        f"{scale.compute:.2e}",
        len(scale.runs),
        len(kept),
        f"{scale.best.loss:.4f}",
        "{:,.0f} ({:,.0f} to {:,.0f})".format(*batch_tokens),
        "{:.2e} ({:.1e} to {:.1e})".format(*learning_rate),
    ]


def _spread(runs: tuple[ScalingRun, ...], value: Callable[[ScalingRun], float]) -> tuple[float, float, float]:
    """The geometric mean and the range."""
    values = list(map(value, runs))
    return geometric_mean(values), min(values), max(values)


def _laws(fitted: ScalingFit) -> Iterator[list[Any]]:
    for name, law in fitted.laws.items():
        yield [_NAMES[name], f"{law.coefficient:.4g} · C^{law.exponent:.4f}", _interval(law), law.points]


def _interval(law: PowerLaw) -> str:
    return "too few points" if law.interval is None else "{:.4f} to {:.4f}".format(*law.interval)
