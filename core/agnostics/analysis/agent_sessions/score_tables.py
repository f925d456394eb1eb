"""The tables of scores, in the shapes of the paper: table 1, and those of appendices B.2, B.6, B.7 and E."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean

from agnostics.analysis.agent_sessions.cells import (
    Cell,
    Score,
    SettingResults,
    bootstrap_by_session,
    score,
    tier_score,
    total,
)
from agnostics.analysis.agent_sessions.markdown import escaped, table
from agnostics.analysis.agent_sessions.played import PlayedSession

MISSING = "-"
PARTIAL, UNSOLVABLE = "†", "‡"
ALL = "all languages"


def percent_table(results: SettingResults) -> str:
    """Percent solved with the longer half of the interval (table 1), and over all languages."""
    return _by_language(results, _percent, "partial")


def count_table(results: SettingResults) -> str:
    """Solved problems of N (appendix B.2), of a partial cell those of the final ones; marks say what is left out."""
    return _by_language(results, lambda one: f"{one.solved}/{one.problems}", None)


def interval_table(results: SettingResults) -> str:
    """Percent solved with both halves of the interval (appendix B.6)."""
    return _by_language(results, _with_halves, "partial")


def _by_language(results: SettingResults, shown: Callable[[Score], str], partial: str | None) -> str:
    """A row for each player, a column for each language. `partial` stands for a partial cell; None for its counts."""
    several = len(results.languages) > 1
    columns = ["player", *map(escaped, results.languages), *([ALL] if several else [])]
    rows = []
    for player in results.players:
        cells = [results.cell(player, language) for language in results.languages]
        row = [escaped(player), *(_cell(cell, shown, partial) for cell in cells)]
        headlines = results.headlines(player)
        pooled = shown(total(map(score, headlines))) if headlines else MISSING
        rows.append([*row, pooled] if several else row)
    return table(columns, rows)


def _cell(cell: Cell | None, shown: Callable[[Score], str], partial: str | None) -> str:
    if cell is None:
        return MISSING
    if cell.score:
        mark = f" {UNSOLVABLE}" if partial is None and _unsolvable(cell.sessions[0]) else ""
        return f"{shown(cell.score)}{mark}"
    return partial or f"{_so_far(cell.sessions[0])} {PARTIAL}"


def _so_far(session: PlayedSession) -> str:
    """The score of a partial session on its final problems."""
    so_far = score(session, lambda problem: problem.final and problem.unsolvable is None)
    return f"{so_far.solved}/{so_far.problems} of {score(session).problems}"


def _unsolvable(session: PlayedSession) -> int:
    return sum(problem.unsolvable is not None for problem in session.problems)


def _percent(one: Score) -> str:
    """With +x at 0 %, -x at 100 % and ±x between, where x is the longer half of the interval."""
    low, high = one.interval
    sign = "+" if one.solved == 0 else "-" if one.solved == one.problems else "±"
    return f"{100 * one.rate:.1f} {sign}{100 * max(one.rate - low, high - one.rate):.1f}" if one.problems else MISSING


def _with_halves(one: Score) -> str:
    low, high = one.interval
    halves = f"+{100 * (high - one.rate):.1f} -{100 * (one.rate - low):.1f}"
    return f"{100 * one.rate:.1f} {halves}" if one.problems else MISSING


def percent_range(low: float, high: float) -> str:
    """An interval of rates in percent."""
    return f"{100 * low:.1f} to {100 * high:.1f}"


def tier_table(results: SettingResults) -> str:
    """Solved problems of each tier with their interval (appendix E), by language and over all; complete cells only."""
    rows = []
    for player in results.players:
        named = [(cell.language, [cell.headline]) for cell in results.cells if cell.player == player and cell.headline]
        headlines = results.headlines(player)
        if headlines and len(headlines) > 1:
            named.append((ALL, list(headlines)))
        for language, sessions in named:
            scores = [total(tier_score(one, tier) for one in sessions if one) for tier in results.tiers]
            rows.append([escaped(player), escaped(language), *map(_tier, scores)])
    columns = ["player", "language", *(escaped(tier.replace("_", " ")) for tier in results.tiers)]
    return table(columns, rows, left=2) if rows else ""


def _tier(one: Score) -> str:
    if not one.problems:
        return MISSING
    return f"{one.solved}/{one.problems}, {100 * one.rate:.1f} ({percent_range(*one.interval)})"


def session_table(results: SettingResults) -> str:
    """Solved problems of each session of a cell and their range (appendix B.7), with the interval by session."""
    most = max(len(cell.sessions) for cell in results.cells)
    columns = ["language", "player", *(f"session {number + 1}" for number in range(most)), "range", "mean %", "95 %"]
    cells = [
        cell for language in results.languages for player in results.players if (cell := results.cell(player, language))
    ]
    rows = [_sessions(cell, most) for cell in cells]
    return table(columns, [*rows, *_pooled_sessions(results, most)], left=2)


def _sessions(cell: Cell, most: int) -> list[str]:
    counts = [
        str(score(session).solved) if session.is_complete else f"{_so_far(session)} {PARTIAL}"
        for session in cell.sessions
    ]
    solved = [score(session).solved for session in cell.complete]
    spread = str(max(solved) - min(solved)) if len(solved) > 1 else MISSING
    names = [escaped(cell.language), escaped(cell.player)]
    return [*names, *counts, *[""] * (most - len(counts)), spread, *_mean([cell])]


def _pooled_sessions(results: SettingResults, most: int) -> Iterator[list[str]]:
    if len(results.languages) == 1:
        return
    for player in results.players:
        if results.headlines(player):
            cells = [cell for cell in results.cells if cell.player == player]
            yield [ALL, escaped(player), *[""] * most, "", *_mean(cells)]


def _mean(cells: list[Cell]) -> list[str]:
    """The mean over `cells` of the rate over all complete sessions, and its interval."""
    if not all(cell.complete for cell in cells):
        return [MISSING, MISSING]
    interval = bootstrap_by_session(cells)
    rates = [total(map(score, cell.complete)).rate for cell in cells]
    return [f"{100 * fmean(rates):.1f}", percent_range(*interval) if interval else MISSING]


def notes(results: SettingResults) -> Iterator[str]:
    """What the marks in the tables mean, where there are any."""
    if any(not session.is_complete for cell in results.cells for session in cell.sessions):
        yield (
            f"{PARTIAL} partial: some problems are not final. The count is of those that are; a partial cell has no "
            "percentage, and is left out of the pooled scores, the charts and the comparisons."
        )
    if any(map(_unsolvable, _first_sessions(results))):
        yield (
            f"{UNSOLVABLE} problems that no program of the language can solve are counted apart, below, and are not "
            "among the N of any score."
        )


def unsolvable_table(results: SettingResults) -> str:
    """The problems that are known to be unsolvable, and how often each was solved all the same; may be empty."""
    reasons = {
        (cell.language, problem.id): problem.unsolvable
        for cell in results.cells
        for problem in cell.sessions[0].problems
        if problem.unsolvable is not None
    }
    rows = []
    for (language, id_), reason in reasons.items():
        sessions = [session for cell in results.cells if cell.language == language for session in cell.sessions]
        played = [problem for session in sessions for problem in session.problems if problem.id == id_]
        counts = [str(sum(problem.final for problem in played)), str(sum(problem.solved for problem in played))]
        rows.append([escaped(language), escaped(id_), escaped(reason), *counts])
    return table(["language", "problem", "reason", "finished", "solved all the same"], rows, left=3) if rows else ""


def _first_sessions(results: SettingResults) -> Iterator[PlayedSession]:
    return (cell.sessions[0] for cell in results.cells)
