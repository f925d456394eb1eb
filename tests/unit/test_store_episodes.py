"""Episodes in the database: what turns, tool calls and policy versions become, and single answers beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import agnostics.store
import pytest
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.prune import prune
from agnostics.store.queries.episodes import load_episode
from agnostics.store.run_recorder import record_of
from agnostics.store.writer.batch import Batch
from agnostics.store.writer.process import BatchDecoder, BatchEncoder
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Rollout, Segment, ToolCallRecord, Turn
from agnostics.types.verification import Verdict
from sqlalchemy import text

Make = Callable[..., CompletionRecord]
TABLES = ("turn", "tool_call", "version_span")
HOSTILE = "a\0b\ud800'; drop table turn; --"
READABLE = "a\N{SYMBOL FOR NULL}b\N{REPLACEMENT CHARACTER}'; drop table turn; --"
LONG = "The program prints a wrong output. " * 40


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    with Store.open(database) as opened:
        yield opened


@pytest.fixture
def run(store: Store, lua: Language) -> str:
    return _start(store, lua)


def _start(store: Store, lua: Language) -> str:
    return store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)


def _single_answer(record: Make, *versions: int, sample: int = 0) -> Rollout:
    """A rollout of one turn whose tokens were sampled by these versions."""
    one, segment = record(), Segment.sampled(range(len(versions)), [-0.5] * len(versions), versions)
    turn = Turn(text=one.text, num_tokens=len(versions), finish_reason="stop", sampling_ms=7.0)
    return Rollout(
        task=one.task,
        sample=sample,
        segments=(segment,),
        turns=(turn,),
        text=one.text,
        num_tokens=len(versions),
        verification=one.verification,
    )


def _episode(record: Make, verdict: Verdict = Verdict.ACCEPTED, sample: int = 0) -> Rollout:
    """A wrong program, a tool call that fails beside one that does not, and the last program; the policy changes."""
    last, wrong = record(verdict), record(Verdict.WRONG_ANSWER, program="print(3)")
    calls = (
        ToolCallRecord(tool="shell", arguments={"command": HOSTILE}, output=LONG, ok=True, wall_ms=1.25),
        ToolCallRecord(tool=HOSTILE, arguments={}, output=HOSTILE, ok=False, wall_ms=0.0),
    )
    first = Turn(
        text=wrong.text,
        num_tokens=3,
        finish_reason="stop",
        observation=LONG,
        observation_tokens=2,
        verification=wrong.verification,
        sampling_ms=12.5,
        environment_ms=0.5,
    )
    second = replace(first, text=HOSTILE, observation=HOSTILE, verification=None, reward=0.25, tool_calls=calls)
    third = Turn(text=last.text, num_tokens=2, finish_reason="length")
    told = Segment((8, 9), (0, 0), (0.0, 0.0), (4, 4))
    segments = [Segment.sampled(range(n), [-0.5] * n, v) for n, v in ((3, (4, 4, 4)), (3, (4, 5, 5)), (2, (5, 6)))]
    return Rollout(
        task=last.task,
        sample=sample,
        segments=(segments[0], told, segments[1], told, segments[2]),
        turns=(first, second, third),
        finish_reason="length",
        text=last.text,
        num_tokens=8,
        verification=last.verification,
        reward=1.0,
    )


def _write(store: Store, run: str, *rollouts: Rollout, step: int = 1) -> None:
    with store.recorder(run) as recorder:
        for rollout in rollouts:
            recorder.completion(record_of(step, "train", rollout))


def _ask(store: Store, sql: str) -> list[tuple[Any, ...]]:
    with reading(store.engine) as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_a_single_answer_has_no_row_of_a_turn_and_is_an_episode_of_one(store: Store, run: str, record: Make) -> None:
    _write(store, run, _single_answer(record, 2, 2, 2))
    assert [_ask(store, f"select count(*) from {table}") for table in TABLES] == [[(0,)]] * 3
    columns = "turns, sampled_tokens, observation_tokens, tool_calls, failed_tool_calls, solved_at_turn, verdict"
    assert _ask(store, f"select {columns} from episodes") == [(1, 3, 0, 0, 0, 1, "accepted")]
    shown = "number, text, tokens, finish_reason, observation, observation_tokens, verdict, sampling_ms"
    assert _ask(store, f"select {shown} from turns") == [(1, record().text, 3, "stop", None, 0, None, None)]
    assert _ask(store, "select first_token, tokens, policy_version from version_spans") == [(0, 3, 2)]


def test_an_answer_that_several_versions_sampled_has_their_spans_and_no_turn(
    store: Store, run: str, record: Make
) -> None:
    _write(store, run, _single_answer(record, 2, 2, 3, 2))
    assert _ask(store, "select first_token, tokens, policy_version from version_spans order by 1") == [
        (0, 2, 2),
        (2, 1, 3),
        (3, 1, 2),
    ]
    assert _ask(store, "select policy_version from completion") == [(2,)]
    assert _ask(store, "select count(*) from turn") == [(0,)]


def test_one_turn_with_a_verdict_of_its_own_is_stored(store: Store, run: str, record: Make) -> None:
    answer = _single_answer(record, 1)
    _write(store, run, replace(answer, turns=(replace(answer.turns[0], verification=record().verification),)))
    assert _ask(store, "select number, verdict, sampling_ms from turns") == [(1, "accepted", 7.0)]


def test_an_episode_is_stored_with_its_turns_tool_calls_and_versions(store: Store, run: str, record: Make) -> None:
    _write(store, run, _single_answer(record, 1), _episode(record), _episode(record, Verdict.WRONG_ANSWER))
    columns = "turns, sampled_tokens, observation_tokens, tool_calls, failed_tool_calls, solved_at_turn, reward"
    assert _ask(store, f"select {columns} from episodes where turns > 1 order by completion_id") == [
        (3, 8, 4, 2, 1, 3, 1.0),
        (3, 8, 4, 2, 1, None, 1.0),
    ]
    (solved,) = _ask(store, "select completion_id from episodes where turns > 1 and verdict = 'accepted'")
    with reading(store.engine) as connection:
        episode = load_episode(connection, solved[0])
    turns = [turn.row for turn in episode.turns]
    assert [turn.text for turn in turns] == ["```lua\nprint(3)\n```", READABLE, "```lua\nprint(2)\n```"]
    assert [turn.observation for turn in turns] == [LONG, READABLE, None]
    assert [(turn.verdict, turn.reward, turn.finish_reason) for turn in turns] == [
        ("wrong_answer", None, "stop"),
        (None, 0.25, "stop"),
        (None, None, "length"),
    ]
    assert (turns[0].sampling_ms, turns[0].environment_ms) == (12.5, 0.5)
    assert [turn.policy_versions for turn in episode.turns] == [(4,), (4, 5), (5, 6)]
    assert [(call.tool, call.arguments, call.output, call.ok) for call in episode.turns[1].tool_calls] == [
        ("shell", {"command": READABLE}, LONG, True),
        (READABLE, {}, READABLE, False),
    ]
    assert [(span.first_token, span.tokens, span.policy_version) for span in episode.version_spans] == [
        (0, 4, 4),
        (4, 3, 5),
        (7, 1, 6),
    ]


def test_the_text_of_a_completion_is_stored_once_and_long_texts_are_compressed(
    store: Store, run: str, record: Make
) -> None:
    _write(store, run, _episode(record))
    assert _ask(store, "select number from turn where text is null") == [(3,)]
    if store.engine.dialect.name == "sqlite":
        kinds = "select typeof(observation), length(observation) < 100 from turn where number = 1"
        assert _ask(store, kinds) == [("blob", 1)]


def test_an_episode_reaches_the_process_that_stores_it_as_it_was(record: Make) -> None:
    records = [record_of(1, "train", rollout) for rollout in (_single_answer(record, 1), _episode(record))]
    clean = replace(_episode(record), turns=_episode(record).turns[::2])
    records.append(record_of(1, "train", clean))
    decoded = BatchDecoder().decode(BatchEncoder().encode(Batch(records))).records
    assert (decoded[0], decoded[2]) == (records[0], records[2])
    assert decoded[1].turns[1].text == READABLE
    assert decoded[1].turns[0] == records[1].turns[0]


def test_what_is_resumed_or_pruned_takes_turns_tool_calls_and_versions_along(
    store: Store, run: str, record: Make, lua: Language
) -> None:
    other = _start(store, lua)
    for name in (run, other):
        for step in (1, 2):
            _write(store, name, _episode(record), step=step)
    store.resume_run(run, 1)
    counts = [_ask(store, f"select count(*) from {table}")[0][0] for table in TABLES]
    assert counts == [9, 6, 9]
    prune(store.engine, [other])
    assert [_ask(store, f"select count(*) from {table}")[0][0] for table in TABLES] == [3, 2, 3]
    prune(store.engine, [run])
    assert [_ask(store, f"select count(*) from {table}")[0][0] for table in TABLES] == [0, 0, 0]


def test_an_episode_that_is_not_there_is_refused(store: Store) -> None:
    with reading(store.engine) as connection, pytest.raises(UsageError, match="no episode has the id 7; agn results"):
        load_episode(connection, 7)


def test_episodes_are_rows_in_python_chosen_by_turns_and_failed_tools(
    store: Store, run: str, record: Make, database: str
) -> None:
    calm = replace(_episode(record, sample=1), turns=_episode(record).turns[::2])
    _write(store, run, _single_answer(record, 1), _episode(record), calm)
    with agnostics.store.open(database) as results:
        assert [row.turns for row in results.episodes("last")] == [1, 3, 2]
        assert [row.turns for row in results.episodes(newest=2)] == [2, 3]
        by_turns = {number: [row.turns for row in results.episodes(turns=number)] for number in range(1, 5)}
        assert by_turns == {1: [1], 2: [2], 3: [3], 4: []}
        assert [row.tool_calls for row in results.episodes(failed_tools=True)] == [2]
        assert len(list(results.turns("last"))) == 6
        assert len(list(results.turns(verdict="wrong_answer"))) == 0
        assert [(call.turn, call.number, call.ok) for call in results.tool_calls(phase="train")] == [
            (2, 1, True),
            (2, 2, False),
        ]
        assert sum(span.tokens for span in results.version_spans()) == 1 + 8 + 8
