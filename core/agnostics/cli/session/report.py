"""`agn session report`: agent sessions as tables and charts, in Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import console
from agnostics.cli.output_files import atomic_text_writer, require_writable
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import MissingRequirement

if TYPE_CHECKING:
    from agnostics.analysis.agent_sessions.charts import Chart


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--compare", nargs=2, metavar="A B", help="Compare two players, two protocols, or two sessions.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file, ending in .md, with charts beside it; without it, the report goes to stdout, without charts.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@store_option
def report(
    names: tuple[str, ...], compare: tuple[str, str] | None, output: Path | None, force: bool, store: str | None
) -> None:
    """Report the sessions called NAME, or all, in Markdown: scores with intervals, tiers, ranges, effort, shared text.

    Sessions of the same rules, problems and hidden tests share a table. See docs/agent-session-reports.md.
    """
    from agnostics.analysis.agent_sessions.report import report_charts, report_markdown, session_report
    from agnostics.plugins.manager import load_plugins

    if output:
        require_writable(output, force, (".md",))
    with reading(store) as connection:
        made = session_report(connection, names, load_plugins().languages(), compare)
    if output is None:
        click.echo(report_markdown(made, {}), nl=False)
        return
    charts = _write_charts(report_charts(made), output, force)
    with atomic_text_writer(output) as file:
        file.write(report_markdown(made, charts))
    console.print(f"report: {output}", markup=False, soft_wrap=True)


def _write_charts(charts: list[Chart], output: Path, force: bool) -> dict[str, str]:
    """Write the charts beside `output`; the names of their files by their own."""
    from agnostics.analysis.agent_sessions.charts import chart_path, write_charts

    for chart in charts:
        require_writable(chart_path(chart, output), force, (".svg",))
    try:
        return {chart.name: path.name for chart, path in zip(charts, write_charts(charts, output), strict=True)}
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
