"""`agn session run`: begin an agent session, or resume one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, print_json, reserve_stdout
from agnostics.cli.progress import progress_bar
from agnostics.cli.results.reading import store_option
from agnostics.cli.session.local_model import model_name, opened_model, with_local_model
from agnostics.plugins.manager import PluginManager, load_plugins
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.util.settings import absolute_name, parse_options, with_options
from agnostics.util.signals import InterruptHandler
from agnostics.util.text import plural

if TYPE_CHECKING:
    from rich.progress import Progress

    from agnostics.players.player import Player
    from agnostics.referee.problem import Problem
    from agnostics.referee.session_rows import SessionRow
    from agnostics.referee.state import SessionState
    from agnostics.store import Store

_NEEDED = ("language", "player", "dataset")
_BESIDE_RESUME = (
    "--resume uses the session's own settings; it may be combined with --language (the same one, if it is in a file), "
    "--sandbox, --store and --json"
)


@click.command()
@click.option("--language", help="A language's name, or a YAML file.")
@click.option("--player", help="What plays: replay, or a plugin's player.")
@click.option("--protocol", help="The rules: a name, or a YAML file.  [default: primary]")
@click.option("--dataset", help="A data set's name, adapter:source, or a file.")
@click.option("--split", help="The split of the data set.  [default: test]")
@click.option("--reseal", "seed", metavar="SEED", type=int, help="Replace the hidden tests by fresh ones.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first problems.")
@click.option("--set", "overrides", multiple=True, metavar="NAME=VALUE", help="Set an option of the player.")
@click.option("--name", help="The name of the session; one is made if it is not given.")
@click.option("--resume", metavar="NAME", help="Go on with a session that was interrupted.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap or process.")
@store_option
@json_option
def run(resume: str | None, sandbox: str, store: str | None, as_json: bool, **options: Any) -> int:
    """Let a player go through the problems of a data set: fetch, run, submit, within a protocol.

    Every operation is stored at once: a session that was interrupted is resumed with --resume.
    """
    from agnostics.store import Store, default_url

    if resume and any(value not in (None, ()) for option, value in options.items() if option != "language"):
        raise UsageError(_BESIDE_RESUME)
    plugins = load_plugins()
    with Store.open(store or default_url(), create=not resume) as opened:
        name = resume or _create(opened, plugins, options, sandbox)
        console.print(f"session {name}", markup=False, soft_wrap=True)
        state = _play(opened, plugins, name, options["language"], sandbox)
    if as_json:
        solved, total = state.solved, len(state.ids)
        print_json({"session": name, "solved": solved, "problems": total, "complete": state.all_done})
    else:
        partial = "" if state.all_done else "; the player stopped before the end"
        click.echo(f"{name}: {state.solved} of {plural(len(state.ids), 'problem')} solved{partial}")
    return 0


def _create(store: Store, plugins: PluginManager, options: Mapping[str, Any], sandbox: str) -> str:
    """Insert the session that `options` describe, and return its name."""
    from agnostics.referee.problem import make_problems
    from agnostics.referee.protocol import load_protocol
    from agnostics.referee.session_rows import create_session

    if missing := next((option for option in _NEEDED if not options[option]), None):
        raise UsageError(f"--{missing} is missing; a session needs --language, --player and --dataset, or --resume")
    protocol = load_protocol(options["protocol"] or "primary")
    player_options = parse_options(options["overrides"])
    player = _player(plugins, options["player"], player_options)
    language = plugins.language(options["language"])
    adapter, source = plugins.dataset(options["dataset"])
    split = options["split"] or ("test" if "test" in adapter.splits else adapter.splits[0])
    if split not in adapter.splits:
        raise unknown_name_error("split", split, adapter.splits)
    player = with_local_model(player, plugins, language.name, sandbox)
    tasks = list(adapter.tasks(split, source=source))[: options["limit"]]
    name = options["name"] or f"{language.name}-{player.name}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    create_session(
        store,
        name,
        problems=make_problems(adapter, tasks, language, options["seed"]),
        protocol=protocol,
        language=language.name,
        dataset=absolute_name(options["dataset"]),
        player=player.name,
        player_options={option: getattr(player, option) for option in player_options},
        model=model_name(player),
        seed=options["seed"],
    )
    return name


def _player(plugins: PluginManager, name: str, options: Mapping[str, Any]) -> Player:
    """A player with its options set, whose requirements are there."""
    player = with_options(plugins.player(name), f"player {name!r}", "--set ", options)
    player.check_requirements()
    return player


def _play(store: Store, plugins: PluginManager, name: str, language_name: str | None, sandbox: str) -> SessionState:
    from agnostics.players.session_runner import finished_error, play_session
    from agnostics.verify import Verifier

    session, problems = _stored(store, name)
    if session.finished_at:  # before its model is loaded
        raise finished_error(name)
    player = _player(plugins, session.player, session.player_options)
    language = plugins.language(language_name or session.language)
    with (
        InterruptHandler(),
        reserve_stdout(),
        Verifier(sandbox, 1, plugins.languages(), plugins.sandboxes()) as verifier,
        opened_model(player, plugins, language.name, sandbox) as backend,
        progress_bar() as bar,
    ):
        try:
            return play_session(
                store,
                name,
                player,
                language,
                verifier,
                backend=backend,
                sandbox=sandbox,
                backends=plugins.sandboxes(),
                on_event=_Progress(bar, problems),
            )
        except KeyboardInterrupt:
            console.print(f"resume it with: agn session run --resume {name}", markup=False, soft_wrap=True)
            raise


def _stored(store: Store, name: str) -> tuple[SessionRow, list[Problem]]:
    from agnostics.referee.session_rows import find_session, read_problems
    from agnostics.store.database import reading

    with reading(store.engine) as connection:
        session = find_session(connection, name)
        return session, read_problems(connection, session.id)


class _Progress:
    """Prints a line for each problem that has become final, and shows a bar if there is one."""

    def __init__(self, bar: Progress | None, problems: list[Problem]) -> None:
        self._problems = problems
        self._printed = -1
        self._advance: Callable[[int], None] = lambda _: None
        if bar is not None:
            task = bar.add_task("problems", total=len(problems))
            self._advance = lambda done: bar.update(task, completed=done)

    def __call__(self, state: SessionState) -> None:
        position = state.position
        if position <= self._printed or state.current is not None or position < 0:
            return
        self._printed = position
        problem, now = self._problems[position], state.problems[position]
        tier = f" ({problem.tier})" if problem.tier else ""
        outcome = "solved" if now.solved else "skipped" if now.skipped else "not solved"
        spent = f"{plural(len(now.submissions), 'submission')}, {plural(now.runs, 'run')}"
        line = f"problem {position + 1}/{len(self._problems)}  {problem.id}{tier}: {outcome}, {spent}"
        console.print(f"{line}  {state.solved} solved", markup=False, soft_wrap=True)
        self._advance(position + 1)
