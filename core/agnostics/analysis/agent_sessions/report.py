"""The report of agent sessions in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Connection

from agnostics.analysis.agent_sessions import score_tables
from agnostics.analysis.agent_sessions.cells import (
    SettingResults,
    options_text,
    player_names,
    results_by_setting,
    setting_title,
)
from agnostics.analysis.agent_sessions.charts import Chart, protocol_charts, setting_charts
from agnostics.analysis.agent_sessions.comparison import SessionComparison, compare_sides
from agnostics.analysis.agent_sessions.contamination import MAX_CHARS, SYMBOLS, CheckedProgram, check_sessions
from agnostics.analysis.agent_sessions.markdown import escaped
from agnostics.analysis.agent_sessions.other_tables import (
    MOST_ROWS,
    comparison_section,
    effort_table,
    overlap_table,
    shared_table,
    suspicious_table,
)
from agnostics.analysis.agent_sessions.played import PlayedSession, played_sessions
from agnostics.analysis.agent_sessions.shown import session_texts
from agnostics.analysis.reward_hacking.session_inspection import SessionInspection, inspect_session
from agnostics.referee.protocol import Protocol
from agnostics.referee.session_rows import session_rows
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.util.ngrams import WORDS
from agnostics.util.text import plural


@dataclass(frozen=True, slots=True)
class SessionReport:
    """What a report holds: the sessions by setting, comparisons, checked programs, and inspections by session."""

    sessions: tuple[PlayedSession, ...]
    results: tuple[SettingResults, ...]
    comparisons: tuple[SessionComparison, ...]
    checked: tuple[CheckedProgram, ...]
    inspections: Mapping[str, SessionInspection]


def session_report(
    connection: Connection,
    names: Sequence[str],
    languages: Mapping[str, Language],
    compared: tuple[str, str] | None = None,
) -> SessionReport:
    """The report of the sessions called `names`, or of all, with the comparison of two sides if they are given.

    `languages` are those that are installed here, for the prompts. Raises UsageError if there are no sessions or a name
    is unknown, and MissingRequirement without `datasketch`.
    """
    sessions = played_sessions(connection, names)
    if not sessions:
        raise UsageError("there are no agent sessions in this database; agn session run makes one")
    comparisons = compare_sides(sessions, *compared) if compared else []
    wanted = [session.row.name for session in sessions]
    return SessionReport(
        tuple(sessions),
        tuple(results_by_setting(sessions)),
        tuple(comparisons),
        tuple(_checked(connection, wanted, languages)),
        _inspections(connection, sessions),
    )


def _checked(
    connection: Connection, names: Sequence[str], languages: Mapping[str, Language]
) -> Iterator[CheckedProgram]:
    """The programs of the sessions called `names`, language by language, with all sessions before the last of them."""
    rows = sorted(session_rows(connection), key=lambda row: row.language)
    for _, group in groupby(rows, key=lambda row: row.language):
        of_language = list(group)
        last = max((place for place, row in enumerate(of_language) if row.name in names), default=-1)
        texts = (session_texts(connection, row) for row in of_language[: last + 1])
        yield from check_sessions(texts, languages, names)


def _inspections(connection: Connection, sessions: Sequence[PlayedSession]) -> dict[str, SessionInspection]:
    return {session.row.name: inspect_session(session_texts(connection, session.row)) for session in sessions}


def report_charts(report: SessionReport) -> list[Chart]:
    """The charts of a report."""
    charts = [chart for number, one in enumerate(report.results, 1) for chart in setting_charts(one, number)]
    return [*charts, *protocol_charts(report.results)]


def report_markdown(report: SessionReport, charts: Mapping[str, str]) -> str:
    """A report as Markdown; `charts` are links to the files of its charts by their names."""
    return "\n\n".join(block for block in _blocks(report, charts) if block) + "\n"


def _blocks(report: SessionReport, charts: Mapping[str, str]) -> Iterator[str]:
    yield "# Agent sessions"
    yield (
        f"{plural(len(report.sessions), 'session')}. A problem is solved if one submission passes all of its hidden "
        "tests; there is no partial credit. The score of a player in a language is that of its first complete session. "
        "Intervals are of 95 %: Wilson's, which take problems for independent, unless they are said to be by session."
    )
    for number, results in enumerate(report.results, 1):
        yield from _setting(results, number, charts)
    yield from (_image(chart, charts) for chart in protocol_charts(report.results))
    if report.comparisons:
        yield "## Comparison"
        yield (
            "On the problems that both finished, each side by its first complete session: the difference in percentage "
            "points with its interval (Agresti and Min), and the two-sided p-value of McNemar's exact test."
        )
        yield from comparison_section(report.comparisons)
    yield "## Effort"
    yield effort_table(report.sessions, player_names(report.sessions))
    yield from _shared(report.checked)
    yield "## Suspicious programs and refused operations"
    yield (
        "Submissions that look like reward hacking, with a strength of at least a half; "
        "`agn results suspicious --session NAME` lists them. An operation may be refused because the protocol's rules "
        "do not allow it, or for another reason, such as an attack."
    )
    yield suspicious_table(report.inspections)


def _setting(results: SettingResults, number: int, charts: Mapping[str, str]) -> Iterator[str]:
    yield f"## {escaped(setting_title(results))}"
    yield _rules(results.setting.protocol)
    yield _options(results)
    yield "### Solved, in percent"
    yield score_tables.percent_table(results)
    made = setting_charts(results, number)
    yield from (_image(chart, charts) for chart in made if chart.name.startswith("languages"))
    yield "### Solved problems"
    yield score_tables.count_table(results)
    yield from score_tables.notes(results)
    yield "### Intervals"
    yield score_tables.interval_table(results)
    if results.tiers and (tiers := score_tables.tier_table(results)):
        yield "### By tier"
        yield tiers
        yield from (_image(chart, charts) for chart in made if chart.name.startswith("tiers"))
    yield "### By session"
    yield (
        "Solved problems of each session. The mean is over all complete sessions, and its interval is from resampling "
        "them: the problems of a session are dependent, because a player builds on what it wrote before."
    )
    yield score_tables.session_table(results)
    if unsolvable := score_tables.unsolvable_table(results):
        yield "### Known to be unsolvable"
        yield unsolvable


def _rules(protocol: Protocol) -> str:
    runs = "any number of runs" if protocol.runs is None else f"at most {plural(protocol.runs, 'run')}"
    tokens = "no limit of tokens" if protocol.output_tokens is None else f"{protocol.output_tokens} tokens"
    facts = [
        f"{plural(protocol.submissions, 'submission')} and {runs} for each problem",
        f"feedback: {protocol.feedback}",
        f"host language: {protocol.host_language}",
        f"skipping: {protocol.skip.replace('_', ' ')}",
        f"{tokens} in a turn",
        *(["advice in the prompt"] if protocol.advice.strip() else []),
        *(["a reference library in the workspace"] if protocol.library else []),
    ]
    return f"{'; '.join(facts)}."


def _options(results: SettingResults) -> str:
    """The options of players that have any, which may differ between their languages and sessions."""
    lines = dict.fromkeys(
        f"- {escaped(cell.player)} in {escaped(cell.language)}: {escaped(options_text(session))}"
        for cell in results.cells
        for session in cell.sessions
        if session.row.player_options
    )
    return "\n".join(["Options of players:\n", *lines]) if lines else ""


def _image(chart: Chart, charts: Mapping[str, str]) -> str:
    return f"![{escaped(chart.title)}]({charts[chart.name]})" if chart.name in charts else ""


def _shared(checked: Sequence[CheckedProgram]) -> Iterator[str]:
    yield "## Text shared with what was shown"
    if not checked:
        yield "No program was submitted."
        return
    yield (
        "The largest part of a submitted program that is also in a statement, in the prompt (with the language's card "
        "and advice), or in a program that solved the problem in an earlier session, which a player must not see: the "
        f"fraction of its n-grams of {WORDS} words or {SYMBOLS} symbols, or the Jaccard similarity by MinHash to any "
        f"of these texts, whichever is higher. The first {MAX_CHARS} characters of a text are read."
    )
    yield overlap_table(checked)
    if shared := shared_table(checked):
        yield f"At most {MOST_ROWS} programs that share half or more, with the text that has most of it:"
        yield shared
