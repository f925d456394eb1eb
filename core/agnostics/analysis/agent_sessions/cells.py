"""Cells: the sessions of one player in one language, their score, and the tables' order of players and languages."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Any

from agnostics.analysis.agent_sessions.played import PlayedProblem, PlayedSession
from agnostics.referee.protocol import Protocol
from agnostics.util.statistics import central_interval, resampled_rates, wilson_interval


@dataclass(frozen=True, slots=True)
class Score:
    """Solved problems of `problems`."""

    solved: int
    problems: int

    @property
    def rate(self) -> float:
        """The fraction of solved problems; 0 of none."""
        return self.solved / self.problems if self.problems else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of Wilson (appendix B.6), as if problems were independent."""
        return wilson_interval(self.solved, self.problems)

    def __add__(self, other: Score) -> Score:
        return Score(self.solved + other.solved, self.problems + other.problems)


def score(
    session: PlayedSession, counts: Callable[[PlayedProblem], bool] = lambda problem: problem.unsolvable is None
) -> Score:
    """The score of a session over the problems that `counts` chooses: those that are not known to be unsolvable."""
    counted = [problem for problem in session.problems if counts(problem)]
    return Score(sum(problem.solved for problem in counted), len(counted))


def tier_score(session: PlayedSession, tier: str) -> Score:
    """The score of a session in one tier, without problems that are known to be unsolvable."""
    return score(session, lambda problem: problem.tier == tier and problem.unsolvable is None)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the sessions of a table have in common: the rules, the problems and their hidden tests."""

    dataset: str
    seed: int | None
    protocol: Protocol
    tests: str

    @classmethod
    def of(cls, session: PlayedSession) -> Setting:
        """The setting of a session. Of a data set in a file it has the file's name alone."""
        row = session.row
        return cls(last_parts(row.dataset), row.seed, row.protocol, session.tests)


@dataclass(frozen=True)
class Cell:
    """The sessions of a player in a language in one setting, in the order of creation."""

    player: str
    language: str
    sessions: tuple[PlayedSession, ...]

    @cached_property
    def complete(self) -> list[PlayedSession]:
        """The sessions in which every problem is final."""
        return [session for session in self.sessions if session.is_complete]

    @property
    def headline(self) -> PlayedSession | None:
        """The first complete session, whose score is that of the cell (appendix A.7); None for a partial cell."""
        return self.complete[0] if self.complete else None

    @property
    def score(self) -> Score | None:
        """The score of the headline session; None for a partial cell."""
        return score(self.headline) if self.headline else None


@dataclass(frozen=True)
class SettingResults:
    """The cells of one setting, by player and language, each in the order of its first session."""

    setting: Setting
    cells: tuple[Cell, ...]

    @property
    def players(self) -> list[str]:
        """The names of the players."""
        return list(dict.fromkeys(cell.player for cell in self.cells))

    @property
    def languages(self) -> list[str]:
        """The names of the languages."""
        return list(dict.fromkeys(cell.language for cell in self.cells))

    @property
    def tiers(self) -> list[str]:
        """The tiers in the order of their first problem; empty if problems have none."""
        problems = self.cells[0].sessions[0].problems
        return [tier for tier in dict.fromkeys(problem.tier for problem in problems) if tier]

    def cell(self, player: str, language: str) -> Cell | None:
        """The cell of a player in a language, if it was played."""
        return next((cell for cell in self.cells if (cell.player, cell.language) == (player, language)), None)

    def headlines(self, player: str) -> list[PlayedSession] | None:
        """The headline session of a player in each language; None if one is missing or partial."""
        cells = [self.cell(player, language) for language in self.languages]
        sessions = [cell.headline for cell in cells if cell and cell.headline]
        return sessions if len(sessions) == len(cells) else None


def setting_title(results: SettingResults) -> str:
    """A setting in a few words."""
    setting, count = results.setting, len(results.cells[0].sessions[0].problems)
    return f"{setting.dataset}, {count} problems, protocol {setting.protocol.name}, {hidden_tests(setting)}"


def hidden_tests(setting: Setting) -> str:
    """What the hidden tests of a setting are."""
    return "published tests" if setting.seed is None else f"fresh tests of seed {setting.seed}"


def total(scores: Iterable[Score]) -> Score:
    """The pooled score."""
    return sum(scores, Score(0, 0))


def bootstrap_by_session(cells: Sequence[Cell]) -> tuple[float, float] | None:
    """The 95 % interval of the rate over all complete sessions of `cells`, from resampling sessions in each of them.

    A session's problems are dependent, because later programs are built of earlier ones (B.6); sessions are not. None
    if a cell has fewer than two complete sessions.
    """
    if any(len(cell.complete) < 2 or not score(cell.complete[0]).problems for cell in cells):
        return None
    return central_interval(resampled_rates(session_counts(cells)))


def session_counts(cells: Sequence[Cell]) -> list[list[tuple[int, int]]]:
    """The solved problems and the problems of each complete session of each of `cells`."""
    scores = [[score(session) for session in cell.complete] for cell in cells]
    return [[(one.solved, one.problems) for one in of_cell] for of_cell in scores]


def results_by_setting(sessions: Sequence[PlayedSession]) -> list[SettingResults]:
    """The cells of `sessions`, a group for each setting."""
    names = player_names(sessions)
    groups = defaultdict[Setting, dict[tuple[str, str], list[PlayedSession]]](lambda: defaultdict(list))
    for session in sessions:
        groups[Setting.of(session)][names[session.row.id], session.row.language].append(session)
    return [
        SettingResults(setting, tuple(Cell(*key, tuple(played)) for key, played in cells.items()))
        for setting, cells in groups.items()
    ]


def player_names(sessions: Sequence[PlayedSession]) -> dict[int, str]:
    """The name of each session's player, by the session's id: the player, its model, and its options.

    Options are named only where a player was tried with different ones in one language and setting.
    """
    options = defaultdict[Any, set[str]](set)
    for session in sessions:
        options[_competitor(session), Setting.of(session), session.row.language].add(_options(session))
    varied = {key[0] for key, values in options.items() if len(values) > 1}
    return {session.row.id: _name(session, _competitor(session) in varied) for session in sessions}


def _competitor(session: PlayedSession) -> tuple[str, str]:
    return session.row.player, session.row.model


def _options(session: PlayedSession) -> str:
    return json.dumps(session.row.player_options, sort_keys=True)


def _name(session: PlayedSession, with_options: bool) -> str:
    name = "/".join(last_parts(part) for part in _competitor(session) if part)
    return f"{name} ({options_text(session)})" if with_options and session.row.player_options else name


def options_text(session: PlayedSession) -> str:
    """The options of a session's player, with the last part alone of a path."""
    options = sorted(session.row.player_options.items())
    return ", ".join(f"{name}={last_parts(str(value))}" for name, value in options)


def last_parts(name: str) -> str:
    """`name` with the last part alone of an absolute path, also after `adapter:`; a URL as it is."""
    adapter, colon, source = name.rpartition(":")
    is_path = source.startswith("/") and not source.startswith("//")
    return f"{adapter}{colon}{PurePath(source).name}" if is_path else name
