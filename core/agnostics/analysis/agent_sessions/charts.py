"""The charts of a report: solved problems by language, by tier, and by protocol (figures 3 and 4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agnostics.analysis.agent_sessions.cells import Score, SettingResults, hidden_tests, tier_score, total
from agnostics.analysis.rates import RateEstimate
from agnostics.types.errors import AgnosticsError

Groups = Sequence[tuple[str, Mapping[str, RateEstimate]]]


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars of rates with intervals: a group of one colour for each player, of complete cells alone."""

    name: str
    title: str
    subtitle: str
    groups: Groups


def setting_charts(results: SettingResults, number: int) -> list[Chart]:
    """The charts of a setting, the `number`th of the report: by language and, pooled over languages, by tier."""
    subtitle = f"protocol {results.setting.protocol.name}, {hidden_tests(results.setting)}, with 95 % intervals"
    by_language = [(player, _by_language(results, player)) for player in results.players]
    by_tier = [(player, _by_tier(results, player)) for player in results.players]
    pooled = "in all languages" if len(results.languages) > 1 else f"in {results.languages[0]}"
    made = [
        Chart(f"languages-{number}", "Problems solved, by language", subtitle, by_language),
        Chart(f"tiers-{number}", f"Problems solved {pooled}, by tier", subtitle, by_tier),
    ]
    return [chart for chart in map(_without_empty, made) if chart.groups]


def protocol_charts(results: Sequence[SettingResults]) -> list[Chart]:
    """A chart for each language in which one player played the same problems under two protocols or more."""
    groups = defaultdict[tuple[str, str, str], dict[str, dict[str, RateEstimate]]](lambda: defaultdict(dict))
    for result in results:
        for cell in result.cells:
            if cell.score:
                key = result.setting.dataset, result.setting.tests, cell.language
                groups[key][cell.player][result.setting.protocol.name] = _estimate(cell.score)
    shown = [(key[-1], players) for key, players in groups.items() if max(map(len, players.values())) > 1]
    return [
        Chart(
            f"protocols-{number}",
            f"Problems solved in {language}, by protocol",
            "with 95 % intervals",
            [*players.items()],
        )
        for number, (language, players) in enumerate(shown, 1)
    ]


def chart_path(chart: Chart, report: Path) -> Path:
    """The file of a chart beside that of its report."""
    return report.with_name(f"{report.stem}-{chart.name}.svg")


def write_charts(charts: Sequence[Chart], report: Path) -> Iterator[Path]:
    """Write each chart as SVG beside the file `report`, under its name; their paths.

    Raises ModuleNotFoundError without matplotlib, AgnosticsError if a file cannot be written.
    """
    from agnostics.analysis.plots import plot_bars

    for chart in charts:
        path = chart_path(chart, report)
        try:
            plot_bars(chart.title, chart.subtitle, chart.groups, path)
        except OSError as error:
            raise AgnosticsError(f"{path}: {error.strerror}; name another file with --output") from error
        yield path


def _without_empty(chart: Chart) -> Chart:
    groups = [(name, rates) for name, rates in chart.groups if rates]
    return Chart(chart.name, chart.title, chart.subtitle, groups)


def _by_language(results: SettingResults, player: str) -> dict[str, RateEstimate]:
    cells = [cell for cell in results.cells if cell.player == player]
    return {cell.language: _estimate(cell.score) for cell in cells if cell.score and cell.score.problems}


def _by_tier(results: SettingResults, player: str) -> dict[str, RateEstimate]:
    """Empty if a language is missing or partial."""
    headlines = results.headlines(player) or []
    scores = {tier: total(tier_score(session, tier) for session in headlines) for tier in results.tiers}
    return {tier.replace("_", " "): _estimate(one) for tier, one in scores.items() if one.problems}


def _estimate(one: Score) -> RateEstimate:
    return RateEstimate(one.rate, *one.interval, one.problems)
