"""The other tables of a report: effort, text that programs share with others, suspicious programs, and comparisons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agnostics.analysis.agent_sessions.comparison import Paired, SessionComparison
from agnostics.analysis.agent_sessions.contamination import CheckedProgram, Overlap
from agnostics.analysis.agent_sessions.markdown import code, escaped, table
from agnostics.analysis.agent_sessions.played import PlayedSession
from agnostics.analysis.agent_sessions.score_tables import ALL, MISSING, percent_range
from agnostics.analysis.agent_sessions.shown import SOURCES
from agnostics.analysis.reward_hacking.session_inspection import SessionInspection

MOST_ROWS = 20
"""The programs that are listed one by one."""


def effort_table(sessions: Sequence[PlayedSession], players: Mapping[int, str]) -> str:
    """Submissions, runs, refused operations, calls of models and tokens of each session."""
    columns = ["session", "player", "language", "submissions", "runs", "refused"]
    calls = ["calls", "failed", "prompt tokens", "sampled tokens", "minutes of calls"]
    has_calls = any(session.use.calls for session in sessions)
    rows = (_effort(session, players[session.row.id], has_calls) for session in sessions)
    return table([*columns, *calls] if has_calls else columns, rows, left=3)


def _effort(session: PlayedSession, player: str, has_calls: bool) -> list[str]:
    names = [escaped(session.row.name), escaped(player), escaped(session.row.language)]
    counts = [session.submissions, session.runs, sum(session.refusals.values())]
    row = [*names, *map(_number, counts)]
    use = session.use
    if not has_calls:
        return row
    if not use.calls:
        return [*row, *[MISSING] * 5]
    tokens = map(_number, (use.calls, use.failed, use.prompt_tokens, use.completion_tokens))
    return [*row, *tokens, f"{use.seconds / 60:.1f}"]


def _number(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def overlap_table(checked: Sequence[CheckedProgram]) -> str:
    """The highest fraction of shared n-grams with each source by session, and the number of programs to look at."""
    by_session = defaultdict[str, list[CheckedProgram]](list)
    for one in checked:
        by_session[one.session].append(one)
    columns = ["session", "programs", "too short"]
    columns += [column for source in SOURCES for column in (source, "of these ≥ 50 %")]
    return table(columns, (_overlaps(session, programs) for session, programs in by_session.items()))


def _overlaps(session: str, programs: Sequence[CheckedProgram]) -> list[str]:
    row = [escaped(session), str(len(programs)), str(sum(not one.overlaps for one in programs))]
    for place in range(len(SOURCES)):
        overlaps = [one.overlaps[place] for one in programs if one.overlaps]
        highest = max((overlap.most for overlap in overlaps), default=None)
        row.append(MISSING if highest is None else f"{100 * highest:.0f} %")
        row.append(str(sum(overlap.is_reported for overlap in overlaps)))
    return row


def shared_table(checked: Sequence[CheckedProgram]) -> str:
    """The programs that share most with a source, the most first; empty if none shares half."""
    found = [(one, overlap) for one in checked for overlap in one.overlaps if overlap.is_reported]
    found.sort(key=lambda pair: -pair[1].most)
    columns = ["session", "problem", "submission", "source", "n-grams", "similarity", "for example"]
    return table(columns, (_shared(*pair) for pair in found[:MOST_ROWS]), left=4) if found else ""


def _shared(one: CheckedProgram, overlap: Overlap) -> list[str]:
    source = " ".join(part for part in (overlap.source, overlap.closest or overlap.similar) if part)
    submitted = one.submitted
    return [
        escaped(one.session),
        escaped(submitted.problem.id),
        str(submitted.attempt),
        escaped(source),
        f"{100 * overlap.fraction:.0f} %",
        f"{overlap.similarity:.2f}" if overlap.similarity else MISSING,
        code(overlap.example),
    ]


def suspicious_table(inspections: Mapping[str, SessionInspection]) -> str:
    """The suspicious submissions and the refused operations of each session."""
    columns = ["session", "submissions", "suspicious", "strongest", "refused by rule", "refused otherwise"]
    return table(columns, (_inspected(name, inspection) for name, inspection in inspections.items()))


def _inspected(name: str, inspection: SessionInspection) -> list[str]:
    first = next(iter(inspection.suspicious), None)
    strongest = escaped(f"{first.name} ({first.problem}, {first.strength:.2f})") if first else MISSING
    others = [one for one in inspection.refused if not one.by_rule]
    by_rule = sum(one.times for one in inspection.refused if one.by_rule)
    named = ", ".join(escaped(f"{one.operation}: {one.reason}") + f" ({one.times})" for one in others)
    return [escaped(name), str(inspection.submissions), str(inspection.strong), strongest, str(by_rule), named or "0"]


def comparison_section(comparisons: Iterable[SessionComparison]) -> Iterator[str]:
    """The text and the table of each comparison."""
    for comparison in comparisons:
        one, other = map(escaped, comparison.names)
        columns = ["language", "problems", one, other, f"only {one}", f"only {other}", "difference", "95 %", "p"]
        rows = [_compared(escaped(cell.language), cell.paired) for cell in comparison.cells]
        if len(comparison.cells) > 1:
            rows.append(_compared(ALL, comparison.pooled))
        yield f"### {one} and {other}: {escaped(comparison.title)}"
        yield table(columns, rows)
        if comparison.by_session:
            yield (
                "Over all sessions, the 95 % interval of the difference from resampling sessions is "
                f"{percent_range(*comparison.by_session)} points."
            )


def _compared(language: str, paired: Paired) -> list[str]:
    low, high = paired.interval
    return [
        language,
        str(paired.problems),
        *map(str, (*paired.solved, *paired.only)),
        f"{100 * paired.difference:+.1f}",
        f"{100 * low:+.1f} to {100 * high:+.1f}",
        f"{paired.p:.2g}",
    ]
