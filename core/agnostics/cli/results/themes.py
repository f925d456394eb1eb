"""`agn results themes` and `agn results find-themes`: themes of mistakes in failed programs, found by a model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.asking import (
    Asking,
    answer_tokens_option,
    concurrency_option,
    endpoint_options,
    open_endpoint,
    side_by_side,
)
from agnostics.cli.output import json_option, print_json, print_table, words
from agnostics.cli.results.counting import counted
from agnostics.cli.results.failed_programs import RunFailures, load_failures, single_language
from agnostics.cli.results.reading import store_option
from agnostics.inference.openai_client import Refused
from agnostics.inference.response_cache import AnswerCache
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError

if TYPE_CHECKING:
    from agnostics.analysis.themes import Profile

programs_option = click.option(
    "--programs",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="The number of failed programs per run.",
)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@endpoint_options
@programs_option
@click.option("--seed", default=0, show_default=True, help="The seed that selects the programs.")
@concurrency_option
@answer_tokens_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="A folder.")
@click.option("--format", "format_", type=click.Choice(["png", "svg", "both"]), default="both", show_default=True)
@store_option
@json_option
def themes(
    runs: tuple[str, ...],
    programs: int,
    seed: int,
    concurrency: int,
    answer_tokens: int,
    out: Path,
    format_: str,
    store: str | None,
    as_json: bool,
    **consulted: Any,
) -> None:
    """Classify failed programs of each RUN by the paper's seven themes of mistakes, and plot the runs side by side.

    A capable model reads each program with its error message; several themes may apply (Appendix E). RUN is a run, or
    one phase of it as in last:eval_after.
    """
    from agnostics.analysis.themes import profile_of, question

    draw_radar = _plotter()
    samples = [(of_run, _sample(of_run, programs, seed)) for of_run in load_failures(runs, store)]
    questions = [[question(of_run.run.language, program) for program in some] for of_run, some in samples]
    answers = iter(_answers([text for texts in questions for text in texts], concurrency, answer_tokens, consulted))
    profiles = [profile_of(of_run.name, [next(answers) for _ in some]) for of_run, some in samples]
    if not all(profile.found for profile in profiles):
        raise AgnosticsError(f"no usable answer from {consulted['model']!r}; name a more capable --model")
    paths = draw_radar(profiles, out, ["png", "svg"] if format_ == "both" else [format_])
    if as_json:
        print_json({"runs": [_as_dict(profile) for profile in profiles], "files": [str(path) for path in paths]})
        return
    _print(profiles)
    click.echo("\n".join(["", *map(str, paths)]))


@click.command("find-themes")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@endpoint_options
@programs_option
@click.option(
    "--context",
    default=32_000,
    show_default=True,
    type=click.IntRange(min=1024),
    help="The model's context length in tokens.",
)
@store_option
def find_themes(runs: tuple[str, ...], programs: int, context: int, store: str | None, **consulted: Any) -> None:
    """Have a model derive the themes of mistakes in a language from failed programs of each RUN (Appendix E.1).

    Prints the model's answer: 10 to 12 themes, to be edited by a person.
    """
    from agnostics.analysis.advice.brief import Brief
    from agnostics.analysis.advice.faults import choose
    from agnostics.analysis.advice.sentences import without_reasoning
    from agnostics.analysis.taxonomy import question

    language, failed = single_language(load_failures(runs, store))
    brief = Brief(language, "", choose(failed, programs), context)
    words.print(f"showing {len(brief.batches[0])} of {counted(len(failed), 'failed program')}", markup=False)
    with open_endpoint(**consulted) as endpoint, Asking(endpoint, brief.answer_tokens, 1) as asking:
        reply = asking(question(brief))
    answer = without_reasoning(reply.text).strip()
    if not answer:
        raise AgnosticsError(f"{endpoint.shown}: empty answer from {endpoint.model!r}; name a more capable --model")
    click.echo("".join(c for c in answer if c.isprintable() or c == "\n"))
    if not reply.whole:
        words.print("warning: the answer was truncated; a larger --context leaves more room for it", markup=False)


def _plotter() -> Any:
    """`draw_radar`, imported before any request is paid for."""
    try:
        from agnostics.analysis.plots import draw_radar
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
    return draw_radar


def _sample(failures: RunFailures, count: int, seed: int) -> list[Any]:
    """A uniform sample of the failed programs. Raises UsageError if there are none."""
    if not failures.programs:
        raise UsageError(f"{failures.name}: no failed program; name another run")
    return random.Random(seed).sample(failures.programs, min(count, len(failures.programs)))


def _answers(questions: Sequence[str], concurrency: int, answer_tokens: int, consulted: dict[str, Any]) -> list[str]:
    with open_endpoint(**consulted) as endpoint:
        known = AnswerCache(endpoint.model, answer_tokens)
        with Asking(endpoint, answer_tokens, len(questions), known) as asking:
            return side_by_side(_answer_of(asking), questions, concurrency)


def _answer_of(asking: Asking) -> Callable[[str], str]:
    """A function that asks a question; its answer is empty if the server refuses the request."""

    def act(question: str) -> str:
        try:
            return asking(question).text
        except Refused:
            return ""

    return act


def _as_dict(profile: Profile) -> dict[str, Any]:
    programs = {"programs": len(profile.found), "unusable_answers": profile.unread}
    return {"run": profile.name, **programs, "themes": dict(zip(_names(), profile.shares, strict=True))}


def _print(profiles: Iterable[Profile]) -> None:
    profiles = list(profiles)
    rows = zip(_names(), *([f"{share:.2f}" for share in profile.shares] for profile in profiles), strict=True)
    print_table(["theme", *(profile.name for profile in profiles)], [list(row) for row in rows])
    unread = [profile.unread for profile in profiles]
    if any(unread):
        words.print(f"unusable answers: {', '.join(map(str, unread))}", markup=False)


def _names() -> list[str]:
    from agnostics.analysis.themes import THEMES

    return [theme.name for theme in THEMES]
