"""`agn results themes` and `agn results find-themes`: have a model tell what is wrong with faulty programs."""

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
from agnostics.cli.results.faulty import Faulty, faulty_in, one_language
from agnostics.cli.results.reading import store_option
from agnostics.inference.openai_client import RequestRefused
from agnostics.inference.response_cache import ResponseCache
from agnostics.types.errors import AgnosticsError, MissingRequirement, UsageError

if TYPE_CHECKING:
    from agnostics.analysis.themes import ThemeProfile

programs_option = click.option(
    "--programs", default=100, show_default=True, type=click.IntRange(min=1), help="How many faulty programs of a run."
)


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@endpoint_options
@programs_option
@click.option("--seed", default=0, show_default=True, help="Which programs are drawn.")
@concurrency_option
@max_completion_tokens_option
@click.option("--out", type=click.Path(path_type=Path), default=Path("plots"), show_default=True, help="A folder.")
@click.option("--format", "kind", type=click.Choice(["png", "svg", "both"]), default="both", show_default=True)
@store_option
@json_option
def themes(
    runs: tuple[str, ...],
    programs: int,
    seed: int,
    concurrency: int,
    max_completion_tokens: int,
    out: Path,
    kind: str,
    store: str | None,
    as_json: bool,
    **consulted: Any,
) -> None:
    """Sort faulty programs of each RUN into the paper's seven themes of mistakes, and draw the runs side by side.

    A capable model reads each program with what was said of it; several themes may apply (Appendix E). RUN is a run, or
    one phase of it as in last:eval_after.
    """
    from agnostics.analysis.themes import theme_profile, theme_prompt

    plot_themes = _plotter()
    samples = [(one, _sample(one, programs, seed)) for one in faulty_in(runs, store)]
    questions = [[theme_prompt(one.run.language, fault) for fault in faults] for one, faults in samples]
    answers = iter(
        _answers([text for texts in questions for text in texts], concurrency, max_completion_tokens, consulted)
    )
    profiles = [theme_profile(one.name, [next(answers) for _ in faults]) for one, faults in samples]
    if not all(profile.labels for profile in profiles):
        raise AgnosticsError(f"nothing usable came back from {consulted['model']!r}; name a more capable --model")
    paths = plot_themes(profiles, out, ["png", "svg"] if kind == "both" else [kind])
    if as_json:
        print_json({"runs": [_as_dict(profile) for profile in profiles], "files": [str(path) for path in paths]})
        return
    _print(profiles)
    click.echo("\n".join(["", *map(str, paths)]))


@click.command("find-themes")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@endpoint_options
@programs_option
@click.option("--context", default=32_000, show_default=True, type=click.IntRange(min=1024), help="Tokens it can hold.")
@store_option
def find_themes(runs: tuple[str, ...], programs: int, context: int, store: str | None, **consulted: Any) -> None:
    """Have a model find the themes of mistakes in a language, from faulty programs of each RUN (Appendix E.1).

    Prints what it answers: 10 to 12 themes, for a person to edit.
    """
    from agnostics.analysis.advice.diversity import diverse_sample
    from agnostics.analysis.advice.prompts import AdvicePrompts
    from agnostics.analysis.taxonomy import taxonomy_prompt
    from agnostics.types.code_extraction import strip_reasoning

    language, faults = one_language(faulty_in(runs, store))
    prompts = AdvicePrompts(language, "", diverse_sample(faults, programs), context)
    console.print(f"showing {len(prompts.batches[0])} of {len(faults)} faulty programs", markup=False)
    with open_endpoint(**consulted) as endpoint, EndpointSession(endpoint, prompts.max_completion_tokens, 1) as session:
        completion = session.complete(taxonomy_prompt(prompts))
    answer = strip_reasoning(completion.text).strip()
    if not answer:
        raise AgnosticsError(
            f"{endpoint.display_url}: nothing came back from {endpoint.model!r}; name a more capable --model"
        )
    click.echo("".join(c for c in answer if c.isprintable() or c == "\n"))
    if completion.truncated:
        console.print("warning: the answer was cut off; a larger --context leaves it more room", markup=False)


def _plotter() -> Any:
    """`plot_themes`: asked for before anything is paid for."""
    try:
        from agnostics.analysis.plots import plot_themes
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[plot]'") from error
    return plot_themes


def _sample(one: Faulty, programs: int, seed: int) -> list[Any]:
    """Some faulty programs, drawn so that each is as likely as any other. Raises UsageError where there is none."""
    if not one.faults:
        raise UsageError(f"{one.name}: no faulty program; name another run")
    return random.Random(seed).sample(one.faults, min(programs, len(one.faults)))


def _answers(
    questions: Sequence[str], concurrency: int, max_completion_tokens: int, consulted: dict[str, Any]
) -> list[str]:
    with open_endpoint(**consulted) as endpoint:
        known = ResponseCache(endpoint.model, max_completion_tokens)
        with EndpointSession(endpoint, max_completion_tokens, len(questions), known) as session:
            return map_concurrently(_answer_of(session), questions, concurrency)


def _answer_of(session: EndpointSession) -> Callable[[str], str]:
    """Asks; the answer to what the server refuses is blank."""

    def act(question: str) -> str:
        try:
            return session.complete(question).text
        except RequestRefused:
            return ""

    return act


def _as_dict(profile: ThemeProfile) -> dict[str, Any]:
    programs = {"programs": len(profile.labels), "unread_answers": profile.unparsed}
    return {"run": profile.name, **programs, "themes": dict(zip(_names(), profile.fractions, strict=True))}


def _print(profiles: Iterable[ThemeProfile]) -> None:
    profiles = list(profiles)
    rows = zip(_names(), *([f"{share:.2f}" for share in profile.fractions] for profile in profiles), strict=True)
    print_table(["theme", *(profile.name for profile in profiles)], [list(row) for row in rows])
    unread = [profile.unparsed for profile in profiles]
    if any(unread):
        console.print(f"answers that could not be used: {', '.join(map(str, unread))}", markup=False)


def _names() -> list[str]:
    from agnostics.analysis.themes import THEMES

    return [theme.name for theme in THEMES]
