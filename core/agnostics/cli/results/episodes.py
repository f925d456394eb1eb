"""`agn results episodes`: the episodes of a run, and one of them as a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, plain, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option
from agnostics.types.errors import UsageError
from agnostics.util.column_ranges import LARGEST_ID, LARGEST_INTEGER
from agnostics.util.text import plural

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from agnostics.store.filters import VerificationFilter
    from agnostics.store.queries.episodes import StoredEpisode, StoredTurn
    from agnostics.store.views import EpisodeRow, ToolCallRow

_COLUMNS = ["id", "phase", "step", "task", "verdict", "turns", "reward", "tokens", "observed", "tool calls", "failed"]


@click.command()
@click.argument("run")
@verification_options
@click.option("--turns", type=click.IntRange(1, LARGEST_INTEGER - 1), help="Episodes of this many turns.")
@click.option("--failed-tools", is_flag=True, help="Episodes with a tool call that failed.")
@click.option(
    "--show",
    "shown",
    type=click.IntRange(0, LARGEST_ID),
    metavar="ID",
    help="One episode of RUN in full, as a conversation.",
)
@click.option(
    "-n",
    "count",
    default=20,
    show_default=True,
    type=click.IntRange(1, LARGEST_INTEGER),
    help="The number of episodes.",
)
@store_option
@json_option
def episodes(
    run: str,
    filters: dict[str, Any],
    turns: int | None,
    failed_tools: bool,
    shown: int | None,
    count: int,
    store: str | None,
    as_json: bool,
) -> None:
    """The episodes of RUN, newest first. RUN may name one phase of a run, as in last:eval_after.

    With --show, one of them: actions, observations, tool calls, verdicts, times, tokens and policy versions. With
    --json, one object per line.
    """
    from agnostics.store.database import default_url, store_argument
    from agnostics.store.episodes import episode_rows

    with reading(store) as connection:
        where = filter_of(connection, run, filters | {"turns": turns, "failed_tools": failed_tools})
        if shown is not None:
            _show(_episode_of(connection, where, shown), as_json=as_json)
            return
        rows = list(episode_rows(connection, where, count))
    if as_json:
        for row in rows:
            print_json(asdict(row))
        return
    print_table(_COLUMNS, map(_line, rows))
    if rows:
        command = f"agn results episodes {rows[0].run} --show {rows[0].completion_id}"
        console.print(f"one in full: {command}{store_argument(store or default_url())}", markup=False, soft_wrap=True)


def _line(row: EpisodeRow) -> list[Any]:
    place = [row.completion_id, row.phase, row.step, row.task, row.verdict, row.turns, row.reward]
    return [*place, row.sampled_tokens, row.observation_tokens, row.tool_calls, row.failed_tool_calls]


def _episode_of(connection: Connection, where: VerificationFilter, completion_id: int) -> StoredEpisode:
    from agnostics.store.queries.episodes import load_episode

    episode = load_episode(connection, completion_id)
    own, wanted = (f"{one.run}:{one.phase}" if where.phase else one.run for one in (episode.row, where))
    if own != wanted:
        raise UsageError(f"--show: the episode {completion_id} is of {own}, not of {wanted}")
    return episode


def _show(episode: StoredEpisode, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_dict(episode))
    else:
        click.echo(plain("\n".join(_conversation(episode))))


def _as_dict(episode: StoredEpisode) -> dict[str, Any]:
    """The episode without what each of its rows repeats."""
    place = ("run", "phase", "step", "task", "completion_id")

    def own(row: Any) -> dict[str, Any]:
        return {name: value for name, value in asdict(row).items() if name not in place}

    turns = [
        {**own(turn.row), "policy_versions": turn.policy_versions, "tool_calls": list(map(own, turn.tool_calls))}
        for turn in episode.turns
    ]
    spans = list(map(own, episode.version_spans))
    # `turns` and `tool_calls` of the row are counts.
    return {"episode": asdict(episode.row), "statement": episode.statement, "turns": turns, "version_spans": spans}


def _conversation(episode: StoredEpisode) -> Iterator[str]:
    row = episode.row
    yield f"run {row.run}, {row.phase}, step {row.step}, task {_on_one_line(row.task)}, sample {row.sample}"
    reward = "" if row.reward is None else f", reward {row.reward:.3f}"
    yield f"{row.verdict}{reward}: {plural(row.turns, 'turn')}, {plural(row.sampled_tokens, 'token')} sampled"
    yield from ("", _rule("task"), _indented(episode.statement))
    for turn in episode.turns:
        yield from _turn(turn, is_last=turn.row.number == row.turns)
    yield from ("", _rule("verdict"), row.verdict)


def _turn(turn: StoredTurn, *, is_last: bool) -> Iterator[str]:
    row = turn.row
    versions = f"policy {', '.join(map(str, turn.policy_versions))}" if turn.policy_versions else ""
    truncated = "truncated" if row.finish_reason == "length" else ""
    yield ""
    yield _rule(f"turn {row.number}", plural(row.tokens, "token"), _time(row.sampling_ms), versions, truncated)
    yield _indented(row.text)
    for call in turn.tool_calls:
        yield from _tool_call(call)
    verdict, reward = row.verdict or "", "" if row.reward is None else f"reward {row.reward:.3f}"
    if row.observation is not None:
        yield ""
        tokens = "not read: the episode had ended" if is_last else plural(row.observation_tokens, "token")
        yield _rule("environment", verdict, reward, tokens, _time(row.environment_ms))
        yield _indented(row.observation)
    elif verdict or reward:
        yield from ("", _rule("environment", verdict, reward, _time(row.environment_ms)))


def _tool_call(call: ToolCallRow) -> Iterator[str]:
    yield ""
    yield _rule(f"tool {_on_one_line(call.tool)}", "ok" if call.ok else "failed", _time(call.wall_ms))
    yield from (_indented(f"{name}: {value}") for name, value in call.arguments.items())
    yield _indented(call.output)


def _indented(text: str) -> str:
    """A text that a model or a program wrote: indented, it cannot pass for a line of ours.

    Only a line feed ends a line here, unlike for `textwrap.indent`: whatever else does is replaced (`plain`).
    """
    return "\n".join(f"    {line}" if line else "" for line in text.strip("\n").split("\n"))


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _rule(title: str, *facts: str) -> str:
    return f"── {' · '.join((title, *filter(None, facts)))} ──"


def _time(milliseconds: float | None) -> str:
    if milliseconds is None:
        return ""
    return f"{milliseconds:.3g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.3g} s"
