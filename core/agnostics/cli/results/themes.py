"""`agn results themes` and `agn results find-themes`: themes of mistakes in failed programs, found by a model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.endpoint_session import (
    EndpointSession,
    concurrency_option,
    endpoint_options,
    map_concurrently,
    max_completion_tokens_option,
    open_endpoint,
)
from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.cli.results.failed_programs import RunFailures, load_failures, single_language
from agnostics.cli.results.reading import store_option
from agnostics.inference.openai_client import RequestRefused
from agnostics.inference.response_cache import ResponseCache
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError
from agnostics.util.text import plural

if TYPE_CHECKING:
    from agnostics.analysis.themes import ThemeProfile

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
@max_completion_tokens_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="A folder.")
@click.option("--format", "format_", type=click.Choice(["png", "svg", "both"]), default="both", show_default=True)
@store_option
@json_option
def themes(
    runs: tuple[str, ...],
    programs: int,
    seed: int,
    concurrency: int,
    max_completion_tokens: int,
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
    from agnostics.analysis.themes import theme_profile, theme_prompt

    plot_themes = _plotter()
    samples = [(of_run, _sample(of_run, programs, seed)) for of_run in load_failures(runs, store)]
    questions = [[theme_prompt(of_run.run.language, program) for program in some] for of_run, some in samples]
    answers = iter(
        _answers([text for texts in questions for text in texts], concurrency, max_completion_tokens, consulted)
    )
    profiles = [theme_profile(of_run.name, [next(answers) for _ in some]) for of_run, some in samples]
    if not all(profile.labels for profile in profiles):
        raise AgnosticsError(f"no usable answer from {consulted['model']!r}; name a more capable --model")
    paths = plot_themes(profiles, out, ["png", "svg"] if format_ == "both" else [format_])
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
    from agnostics.analysis.advice.diversity import diverse_sample
    from agnostics.analysis.advice.prompts import AdvicePrompts
    from agnostics.analysis.taxonomy import taxonomy_prompt
    from agnostics.types.code_extraction import strip_reasoning

    language, failed = single_language(load_failures(runs, store))
    prompts = AdvicePrompts(language, "", diverse_sample(failed, programs), context)
    console.print(f"showing {len(prompts.batches[0])} of {plural(len(failed), 'failed program')}", markup=False)
    with open_endpoint(**consulted) as endpoint, EndpointSession(endpoint, prompts.max_completion_tokens, 1) as session:
        completion = session.complete(taxonomy_prompt(prompts))
    answer = strip_reasoning(completion.text).strip()
    if not answer:
        raise AgnosticsError(
            f"{endpoint.display_url}: empty answer from {endpoint.model!r}; name a more capable --model"
        )
    click.echo("".join(c for c in answer if c.isprintable() or c == "\n"))
    if completion.truncated:
        console.print("warning: the answer was truncated; a larger --context leaves more room for it", markup=False)


def _plotter() -> Any:
    """`plot_themes`, imported before any request is paid for."""
    try:
        from agnostics.analysis.plots import plot_themes
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
    return plot_themes


def _sample(failures: RunFailures, count: int, seed: int) -> list[Any]:
    """A uniform sample of the failed programs. Raises UsageError if there are none."""
    if not failures.programs:
        raise UsageError(f"{failures.name}: no failed program; name another run")
    return random.Random(seed).sample(failures.programs, min(count, len(failures.programs)))


def _answers(
    questions: Sequence[str], concurrency: int, max_completion_tokens: int, consulted: dict[str, Any]
) -> list[str]:
    with open_endpoint(**consulted) as endpoint:
        known = ResponseCache(endpoint.model, max_completion_tokens)
        with EndpointSession(endpoint, max_completion_tokens, len(questions), known) as session:
            return map_concurrently(_answer_of(session), questions, concurrency)


def _answer_of(session: EndpointSession) -> Callable[[str], str]:
    """A function that asks a question; its answer is empty if the server refuses the request."""

    def act(question: str) -> str:
        try:
            return session.complete(question).text
        except RequestRefused:
            return ""

    return act


def _as_dict(profile: ThemeProfile) -> dict[str, Any]:
    programs = {"programs": len(profile.labels), "unusable_answers": profile.unparsed}
    return {"run": profile.name, **programs, "themes": dict(zip(_names(), profile.fractions, strict=True))}


def _print(profiles: Iterable[ThemeProfile]) -> None:
    profiles = list(profiles)
    rows = zip(_names(), *([f"{share:.2f}" for share in profile.fractions] for profile in profiles), strict=True)
    print_table(["theme", *(profile.name for profile in profiles)], [list(row) for row in rows])
    unread = [profile.unparsed for profile in profiles]
    if any(unread):
        console.print(f"unusable answers: {', '.join(map(str, unread))}", markup=False)


def _names() -> list[str]:
    from agnostics.analysis.themes import THEMES

    return [theme.name for theme in THEMES]
