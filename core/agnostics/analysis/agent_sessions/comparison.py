"""The comparison of two players, two protocols or two sessions, by problem: McNemar's exact test and an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from agnostics.analysis.agent_sessions.cells import (
    Cell,
    SettingResults,
    last_parts,
    player_names,
    results_by_setting,
    session_counts,
    setting_title,
)
from agnostics.analysis.agent_sessions.played import PlayedSession
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.util.statistics import central_interval, mcnemar_p_value, paired_rate_interval, resampled_rates

Side = Literal["session", "player", "protocol"]


@dataclass(frozen=True, slots=True)
class Paired:
    """Two sides on the `problems` that both finished: those solved by each, and those that only one of them solved."""

    problems: int
    solved: tuple[int, int]
    only: tuple[int, int]

    @property
    def difference(self) -> float:
        """The rate of the first less that of the second."""
        return (self.solved[0] - self.solved[1]) / self.problems

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the difference, as if problems were independent."""
        return paired_rate_interval(*self.only, self.problems)

    @property
    def p(self) -> float:
        """McNemar's exact two-sided p-value: of such a difference if neither side is better."""
        return mcnemar_p_value(*self.only)

    def __add__(self, other: Paired) -> Paired:
        return Paired(
            self.problems + other.problems,
            (self.solved[0] + other.solved[0], self.solved[1] + other.solved[1]),
            (self.only[0] + other.only[0], self.only[1] + other.only[1]),
        )


@dataclass(frozen=True, slots=True)
class ComparedCell:
    """Two sessions in one language that are compared."""

    language: str
    paired: Paired


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """The comparison of two sides named `names`; `title` says what else they have in common.

    `by_session` is the 95 % interval of the difference of the rates over all sessions, from resampling sessions within
    each cell; None if a cell of either side has fewer than two.
    """

    names: tuple[str, str]
    title: str
    cells: tuple[ComparedCell, ...]
    by_session: tuple[float, float] | None

    @property
    def pooled(self) -> Paired:
        """All languages together."""
        first, *others = (cell.paired for cell in self.cells)
        return sum(others, first)


def compare_sides(sessions: Sequence[PlayedSession], one: str, other: str) -> list[SessionComparison]:
    """The comparisons of `one` with `other` among `sessions`: names of two sessions, of two players or two protocols.

    Players are compared within a setting, protocols within a player, on the same problems and hidden tests, each by
    the headline sessions of its cells; partial cells are left out. Two sessions may be partial. Raises UsageError if
    the names mean different things or nothing, or if nothing can be paired.
    """
    if one == other:
        raise UsageError(f"--compare {one} {other}: name two different ones")
    side, _ = sides = _side(sessions, one), _side(sessions, other)
    if side != sides[1]:
        raise UsageError(f"--compare: {one!r} is a {side} and {other!r} a {sides[1]}; name two of a kind")
    if side == "session":
        return [_compare_two(sessions, one, other)]
    results = results_by_setting(sessions)
    pairs = _player_pairs(results, one, other) if side == "player" else _protocol_pairs(results, one, other)
    comparisons = [made for title, cells in pairs if (made := _compare_cells((one, other), title, cells))]
    if not comparisons:
        raise UsageError(f"--compare: {one!r} and {other!r} have no complete sessions on the same problems and tests")
    return comparisons


def _side(sessions: Sequence[PlayedSession], name: str) -> Side:
    """What `name` is the name of: a session before a player before a protocol."""
    known: dict[Side, set[str]] = {
        "session": {session.row.name for session in sessions},
        "player": {*player_names(sessions).values()},
        "protocol": {session.row.protocol.name for session in sessions},
    }
    for side, names in known.items():
        if name in names:
            return side
    raise unknown_name_error("session, player or protocol", name, sorted(set().union(*known.values())))


CellPair = tuple[Cell, Cell]


def _player_pairs(results: Sequence[SettingResults], one: str, other: str) -> Iterator[tuple[str, list[CellPair]]]:
    for result in results:
        cells = [(result.cell(one, language), result.cell(other, language)) for language in result.languages]
        yield setting_title(result), [(first, second) for first, second in cells if first and second]


def _protocol_pairs(results: Sequence[SettingResults], one: str, other: str) -> Iterator[tuple[str, list[CellPair]]]:
    sides = (_by_player(results, one), _by_player(results, other))
    for key, cells in sides[0].items():
        shared = [language for language in cells if language in sides[1].get(key, {})]
        dataset, player = key[0], key[-1]
        yield f"{player} on {dataset}", [(cells[language], sides[1][key][language]) for language in shared]


def _by_player(results: Sequence[SettingResults], protocol: str) -> dict[tuple[str, str, str], dict[str, Cell]]:
    """The cells of a protocol by data set, hidden tests and player, and by language."""
    groups = defaultdict[tuple[str, str, str], dict[str, Cell]](dict)
    for result in results:
        if result.setting.protocol.name == protocol:
            for cell in result.cells:
                group = groups[result.setting.dataset, result.setting.tests, cell.player]
                if cell.language in group:
                    raise UsageError(f"--compare: there are two protocols called {protocol!r}; name sessions of one")
                group[cell.language] = cell
    return groups


def _compare_cells(names: tuple[str, str], title: str, cells: Sequence[CellPair]) -> SessionComparison | None:
    """The comparison by headline sessions; None if no language has two."""
    paired = [(first, second, both) for first, second in cells if (both := _pair_headlines(first, second))]
    if not paired:
        return None
    compared = tuple(ComparedCell(first.language, both) for first, _, both in paired)
    return SessionComparison(names, title, compared, _difference_by_session([(one, other) for one, other, _ in paired]))


def _pair_headlines(one: Cell, other: Cell) -> Paired | None:
    return pair(one.headline, other.headline) if one.headline and other.headline else None


def _difference_by_session(cells: Sequence[CellPair]) -> tuple[float, float] | None:
    if any(len(cell.complete) < 2 for both in cells for cell in both):
        return None
    rates = (resampled_rates(session_counts(side), seed=seed) for seed, side in enumerate(zip(*cells, strict=True)))
    return central_interval([one - other for one, other in zip(*rates, strict=True)])


def _compare_two(sessions: Sequence[PlayedSession], one: str, other: str) -> SessionComparison:
    by_name = {session.row.name: session for session in sessions}
    first, second = by_name[one], by_name[other]
    if (first.row.language, first.tests) != (second.row.language, second.tests):
        raise UsageError(
            f"--compare: {one!r} and {other!r} differ in their language or their problems and hidden tests"
        )
    paired = pair(first, second)
    if paired is None:
        raise UsageError(f"--compare: there is no problem that both {one!r} and {other!r} finished")
    partial = [session.row.name for session in (first, second) if not session.is_complete]
    note = f" (partial: {', '.join(partial)})" if partial else ""
    title = f"two sessions on {last_parts(first.row.dataset)}{note}"
    return SessionComparison((one, other), title, (ComparedCell(first.row.language, paired),), None)


def pair(one: PlayedSession, other: PlayedSession) -> Paired | None:
    """The problems that both finished and that are not known to be unsolvable; None if there are none."""
    solved = [
        (first.solved, second.solved)
        for first, second in zip(one.problems, other.problems, strict=True)
        if first.final and second.final and first.unsolvable is None
    ]
    if not solved:
        return None
    firsts, seconds = (sum(side) for side in zip(*solved, strict=True))
    return Paired(
        len(solved),
        (firsts, seconds),
        (sum(first and not second for first, second in solved), sum(second and not first for first, second in solved)),
    )
