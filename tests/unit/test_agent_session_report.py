"""The report of agent sessions: scores and intervals by hand, partial cells, comparisons, and the whole page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from agnostics.analysis.agent_sessions.cells import (
    Score,
    SettingResults,
    bootstrap_by_session,
    results_by_setting,
    score,
    tier_score,
)
from agnostics.analysis.agent_sessions.comparison import compare_sides
from agnostics.analysis.agent_sessions.played import ModelUse, PlayedSession, played_sessions
from agnostics.analysis.agent_sessions.report import report_charts, report_markdown, session_report
from agnostics.analysis.agent_sessions.score_tables import (
    count_table,
    interval_table,
    percent_table,
    session_table,
    tier_table,
    unsolvable_table,
)
from agnostics.referee.protocol import Protocol, load_protocol
from agnostics.store import Store
from agnostics.store.database import reading
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from command_line import Agn
from stored_sessions import StoredSession, numbered

GOLDEN = Path(__file__).parents[1] / "support" / "agent_session_report.md"
Play = Callable[..., StoredSession]
BRAINFUCK = Language(
    name="brainfuck", prompt="Use `[->+>+<<]>>[-<<+>>]<[->+<]` to copy a cell.", filename="a.b", execute="./b a.b"
)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
def play(store: Store) -> Play:
    """Stores a session that was played with these outcomes; see `StoredSession.play`."""

    def act(name: str, outcomes: str, **options: object) -> StoredSession:
        return StoredSession(store, name, **options).play(outcomes)  # type: ignore[arg-type]

    return act


def played(store: Store, *names: str) -> list[PlayedSession]:
    with reading(store.engine) as connection:
        return played_sessions(connection, names)


def only_setting(store: Store) -> SettingResults:
    (results,) = results_by_setting(played(store))
    return results


def rows(table: str) -> list[list[str]]:
    """The cells of a Markdown table, without its rule."""
    lines = [line.strip("|").split("|") for line in table.splitlines()]
    return [[cell.strip() for cell in line] for place, line in enumerate(lines) if place != 1]


def test_a_session_is_read_with_its_outcomes_refusals_and_calls(store: Store, play: Play) -> None:
    session = play("one", "2x")
    session.event("fetch", 2)
    session.run("+", "1")
    session.refuse("submit", "wrong_key")
    session.refuse("submit", "wrong_key")
    session.call(100, 20, 1.5)
    session.call(50, 0, 0.5, status=500)
    play("other", "")
    one, other = played(store)
    assert [(problem.solved, problem.final, problem.submissions) for problem in one.problems] == [
        *[(True, True, 2), (False, True, 3), (False, False, 0), (False, False, 0)]
    ]
    assert (one.submissions, one.runs, one.is_complete) == (5, 1, False)
    assert one.refusals == {("submit", "wrong_key"): 2}
    assert (one.use, other.use) == (ModelUse(2, 1, 150, 20, 2.0), ModelUse())
    assert [session.row.name for session in played(store, "other")] == ["other"]
    with pytest.raises(UsageError, match="unknown session 'othr'; did you mean 'other'"):
        played(store, "othr")


def test_a_score_is_of_the_problems_that_can_be_solved(store: Store, play: Play) -> None:
    problems = numbered(4)
    problems[1] = replace(problems[1], unsolvable="needs | more")
    play("one", "11x1", problems=problems)
    (session,) = played(store)
    assert score(session) == Score(2, 3)
    assert (tier_score(session, "easy"), tier_score(session, "extra_hard")) == (Score(1, 1), Score(1, 2))
    results = only_setting(store)
    assert rows(count_table(results))[1] == ["bare", "2/3 ‡"]
    assert rows(unsolvable_table(results))[1] == ["brainfuck", "P2", "needs \\", "more", "1", "1"]


def test_the_tables_have_the_numbers_of_the_paper(store: Store, play: Play) -> None:
    """64 of 80 and 0 of 80: intervals of Wilson by hand, (k + z²/2 ± z √(k(n - k)/n + z²/4)) / (n + z²)."""
    play("one", "1" * 64 + "x" * 16, problems=numbered(80))
    play("two", "x" * 80, problems=numbered(80), language="befunge98")
    results = only_setting(store)
    assert rows(percent_table(results)) == [
        ["player", "brainfuck", "befunge98", "all languages"],
        ["bare", "80.0 ±10.0", "0.0 +4.6", "40.0 ±7.7"],
    ]
    assert rows(interval_table(results))[1] == ["bare", "80.0 +7.3 -10.0", "0.0 +4.6 -0.0", "40.0 +7.7 -7.3"]
    assert rows(count_table(results))[1] == ["bare", "64/80", "0/80", "64/160"]
    assert rows(tier_table(results))[1:] == [
        ["bare", "brainfuck", "40/40, 100.0 (91.2 to 100.0)", "24/40, 60.0 (44.6 to 73.7)"],
        ["bare", "befunge98", "0/40, 0.0 (0.0 to 8.8)", "0/40, 0.0 (0.0 to 8.8)"],
        ["bare", "all languages", "40/80, 50.0 (39.3 to 60.7)", "24/80, 30.0 (21.1 to 40.8)"],
    ]
    assert Score(80, 80).interval == pytest.approx((1 - 0.04582, 1.0), abs=1e-5)


def test_the_first_complete_session_is_the_score_and_the_others_give_a_range(store: Store, play: Play) -> None:
    for name, outcomes in (("a", "1"), ("b", "11xx"), ("c", "1xxx"), ("d", "111x")):
        play(name, outcomes)
    results = only_setting(store)
    assert rows(count_table(results))[1] == ["bare", "2/4"]
    header, row = rows(session_table(results))
    assert header == ["language", "player", *(f"session {n}" for n in (1, 2, 3, 4)), "range", "mean %", "95 %"]
    assert row[:8] == ["brainfuck", "bare", "1/1 of 4 †", "2", "1", "3", "2", "50.0"]
    low, high = bootstrap_by_session(results.cells) or (0, 0)
    assert (low, high) == pytest.approx((0.25 + 1 / 12, 0.75 - 1 / 12), abs=0.09)  # of 27 draws of 1, 2 and 3 of 4


def test_one_session_has_no_interval_by_session(store: Store, play: Play) -> None:
    play("a", "11xx")
    play("b", "11xx", language="befunge98")
    play("c", "1xxx", language="befunge98")
    results = only_setting(store)
    assert [line[-1] for line in rows(session_table(results))] == ["95 %", "-", "25.0 to 50.0", "-"]


def test_a_partial_cell_has_no_rate_and_takes_no_part(store: Store, play: Play) -> None:
    play("a", "11xx")
    play("b", "1x", player="quits")
    play("c", "11xx", language="befunge98", player="quits")
    play("d", "1111", language="befunge98")
    results = only_setting(store)
    assert rows(percent_table(results))[1:] == [
        ["bare", "50.0 ±35.0", "100.0 -49.0", "75.0 ±34.1"],
        ["quits", "partial", "50.0 ±35.0", "-"],
    ]
    assert rows(count_table(results))[2] == ["quits", "1/2 of 4 †", "2/4", "-"]
    assert [line[:2] for line in rows(tier_table(results))[1:]] == [
        *[["bare", "brainfuck"], ["bare", "befunge98"], ["bare", "all languages"], ["quits", "befunge98"]]
    ]
    (comparison,) = compare_sides(played(store), "bare", "quits")
    assert [cell.language for cell in comparison.cells] == ["befunge98"]
    with pytest.raises(UsageError, match="'bare' and 'quits' have no complete sessions on the same problems"):
        compare_sides(played(store, "a", "b"), "bare", "quits")


def test_sessions_share_a_table_only_with_the_same_rules_problems_and_hidden_tests(store: Store, play: Play) -> None:
    play("a", "11xx")
    play("b", "11xx", problems=numbered(4), dataset="esolang-bench")
    play("c", "11xxxx", problems=numbered(6))
    play(
        "d", "11xx", problems=[replace(one, task=one.task.model_copy(update={"statement": "?"})) for one in numbered(4)]
    )
    play("e", "11xx", problems=numbered(5)[1:])
    play("f", "11xx", protocol=load_protocol("no-meta"))
    play("g", "11xx", protocol=Protocol(name="primary", submissions=4))
    play("h", "11xx", seed=7)
    groups = [
        [session.row.name for cell in one.cells for session in cell.sessions]
        for one in results_by_setting(played(store))
    ]
    assert groups == [["a", "b", "d"], ["c"], ["e"], ["f"], ["g"], ["h"]]


def test_players_have_their_options_in_their_name_only_where_these_differ(store: Store, play: Play) -> None:
    play("a", "1xxx", player="replay", options={"programs": "/home/x/a.jsonl"})
    play("b", "1xxx", player="replay", options={"programs": "/home/x/b.jsonl"}, language="befunge98")
    play("c", "1xxx", player="mini", model="/models/qwen", options={"effort": "low"})
    play("d", "11xx", player="mini", model="/models/qwen", options={"effort": "high"})
    assert only_setting(store).players == ["replay", "mini/qwen (effort=low)", "mini/qwen (effort=high)"]


def test_players_are_compared_by_the_problems_that_both_finished(store: Store, play: Play) -> None:
    problems = numbered(20)
    problems[19] = replace(problems[19], unsolvable="no")
    play("a", "1" * 12 + "x" * 8, problems=problems)
    play("b", "xxxxxxxxx" + "11111" + "x" * 6, problems=problems, player="other")
    (comparison,) = compare_sides(played(store), "bare", "other")
    paired = comparison.pooled
    assert (paired.problems, paired.solved, paired.only) == (19, (12, 5), (9, 2))
    assert paired.difference == 7 / 19
    assert paired.p == 2 * (1 + 11 + 55) / 2**11
    half = 1.959964 * (12 - 49 / 21) ** 0.5 / 21
    assert paired.interval == pytest.approx((7 / 21 - half, 7 / 21 + half))
    assert comparison.by_session is None


def test_protocols_are_compared_within_a_player_and_by_session_where_there_are_several(
    store: Store, play: Play
) -> None:
    direct = load_protocol("no-meta")
    for name, outcomes, protocol in (
        *(("a", "1111", load_protocol("primary")), ("b", "111x", load_protocol("primary"))),
        *(("c", "1xxx", direct), ("d", "xxxx", direct)),
    ):
        play(name, outcomes, protocol=protocol)
    play("e", "1111", player="alone")
    (comparison,) = compare_sides(played(store), "primary", "no-meta")
    assert (comparison.names, comparison.title) == (("primary", "no-meta"), "bare on esolang-bench")
    assert (comparison.pooled.solved, comparison.pooled.only) == ((4, 1), (3, 0))
    assert comparison.by_session == (0.5, 1.0)


def test_two_sessions_are_compared_also_if_one_is_partial(store: Store, play: Play) -> None:
    play("a", "1x1")
    play("b", "xx11")
    play("c", "xx11", language="befunge98")
    (comparison,) = compare_sides(played(store), "a", "b")
    assert (comparison.pooled.problems, comparison.pooled.only) == (3, (1, 0))
    assert comparison.title == "two sessions on esolang-bench (partial: a)"
    with pytest.raises(UsageError, match="differ in their language"):
        compare_sides(played(store), "a", "c")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (("a", "bare"), "'a' is a session and 'bare' a player; name two of a kind"),
        (("bare", "bare"), "name two different ones"),
        (("bare", "primry"), "unknown session, player or protocol 'primry'; did you mean 'primary'"),
    ],
)
def test_names_that_cannot_be_compared_are_refused(
    store: Store, play: Play, names: tuple[str, str], complaint: str
) -> None:
    play("a", "1xxx")
    with pytest.raises(UsageError, match=complaint):
        compare_sides(played(store), *names)


def fill(play: Play) -> None:
    """Two players in two languages, one of them partial, two protocols, an unsolvable problem, and an attack."""
    problems = numbered(8, ("easy", "hard"))
    marked = [*problems[:7], replace(problems[7], unsolvable="needs 9 * 8 cells")]
    for name, outcomes, options in (
        ("bf-1", "11213xxx", {"problems": marked}),
        ("bf-2", "1121xxxx", {"problems": marked}),
        ("bf-other", "1xxxxxxx", {"problems": marked, "model": "small"}),
        ("b98-1", "1111111x", {"problems": problems, "language": "befunge98"}),
        ("b98-other", "1xx", {"problems": problems, "language": "befunge98", "model": "small"}),
        ("bf-direct", "1xx1xxxx", {"problems": marked, "protocol": load_protocol("no-meta")}),
    ):
        session = play(name, outcomes, **{"model": "large", **options})
        if name == "bf-1":
            session.call(12_345, 678, 90.0)
    session.event("finish", None, {"reason": "completed"})
    copy = play("bf-copy", "", problems=problems, player="replay", options={"session": "bf-1"})
    copy.event("fetch", 0)
    copy.submit(">,[->+>+<<]>>[-<<+>>]<[->+<].")
    session.refuse("submit", "wrong_key")
    session.refuse("fetch", "all_done")


def test_the_whole_report_is_as_it_was(store: Store, play: Play) -> None:
    """To renew the file after a change: write `made` to it, and read the difference."""
    fill(play)
    with reading(store.engine) as connection:
        report = session_report(connection, (), {"brainfuck": BRAINFUCK}, ("primary", "no-meta"))
    charts = {chart.name: f"report-{chart.name}.svg" for chart in report_charts(report)}
    made = report_markdown(report, charts)
    assert made == GOLDEN.read_text()


def test_the_command_writes_a_report_with_its_charts(agn: Agn, database: str, play: Play, tmp_path: Path) -> None:
    fill(play)
    output = tmp_path / "report.md"
    command = ("session", "report", "--store", database, "--compare", "bare/large", "bare/small")
    answer = agn(*command, "--output", str(output))
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", f"report: {output}\n")
    text = output.read_text()
    charts = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert charts == [
        f"report-{name}.svg" for name in ("languages-1", "languages-2", "protocols-1", "tiers-1", "tiers-2")
    ]
    for chart in charts:
        assert f"]({chart})" in text
        assert "bare/large" in "".join(ElementTree.parse(tmp_path / chart).getroot().itertext())
    again = agn(*command, "--output", str(output))
    assert again.complaint.endswith("already there; name another, or write over it with --force")
    assert agn(*command, "--output", str(output), "--force").returncode == 0
    alone = agn("session", "report", "bf-other", "--store", database).stdout
    assert "1 session." in alone
    assert "![" not in alone


@pytest.mark.usefixtures("store")
def test_an_empty_database_has_no_report(agn: Agn, database: str) -> None:
    answer = agn("session", "report", "--store", database)
    assert answer.complaint == "agn: there are no agent sessions in this database; agn session run makes one"


def test_names_of_strangers_stay_in_their_cell(agn: Agn, database: str, play: Play) -> None:
    play("a", "1xxx", model="<b>|`x`\n# y")
    (line,) = [line for line in agn("session", "report", "--store", database).stdout.splitlines() if "25.0 ±" in line]
    assert line == "| bare/\\<b\\>\\|\\`x\\` \\# y | 25.0 ±44.9 |"
