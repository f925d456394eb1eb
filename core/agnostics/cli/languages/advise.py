"""`agn languages advise`: puts the advice of a capable model on failed programs into a language prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agnostics.analysis.advice.diversity import diverse_sample
from agnostics.analysis.advice.prompts import AdvicePrompts, prompt_with_advice
from agnostics.analysis.advice.request import request_advice
from agnostics.analysis.advice.sentences import MAX_SENTENCES, MIN_SENTENCES
from agnostics.cli.endpoint_session import EndpointSession, endpoint_options, open_endpoint
from agnostics.cli.languages.faulty import Source
from agnostics.cli.languages.yaml_text import fields_of, yaml_text
from agnostics.cli.output import console, json_option, print_json
from agnostics.cli.output_files import require_writable
from agnostics.inference.openai_client import Endpoint
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.util.files import atomic_write_text
from agnostics.util.text import plural

_POSITIVE = click.IntRange(min=1)


@click.command()
@click.argument("language")
@endpoint_options
@click.option("--run", help="Read the failed programs of a run: its id, a prefix, or `last`.")
@click.option("--store", metavar="URL", help="The results database; by default the one in your data folder.")
@click.option("--sample", metavar="MODEL", help="Sample programs now: a model's folder, hub name, or `starter`.")
@click.option("--dataset", help="The tasks for --sample: a name, adapter:source, or a file.")
@click.option("--tasks", default=20, show_default=True, type=_POSITIVE, help="The number of tasks for --sample.")
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    type=click.Choice(["vllm", "transformers"]),
    help="The engine for --sample.",
)
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--programs", default=40, show_default=True, type=_POSITIVE, help="The most failed programs to show.")
@click.option(
    "--context",
    default=16_000,
    show_default=True,
    type=click.IntRange(min=1024),
    help="The model's context.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The output file; LANGUAGE-advised.yaml.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@json_option
def advise(
    language: str, output: Path | None, force: bool, as_json: bool, programs: int, context: int, **options: Any
) -> int:
    """Write a language file whose prompt holds advice from a capable model.

    The model behind --endpoint reads failed programs in LANGUAGE (a name or a YAML file), from a run or sampled now,
    and distils 10 to 20 sentences of advice (section 3.2 of the paper). Use the file with `agn run --language FILE`.
    """
    plugins = load_plugins()
    base = plugins.language(language)
    target = require_writable(output or Path(f"{base.name}-advised.yaml"), force, (".yaml", ".yml"))
    endpoint_settings = {name: options.pop(name) for name in ("url", "model", "key_from", "timeout_s", "retries")}
    source = Source(**options)
    with open_endpoint(**endpoint_settings) as endpoint:
        failed = diverse_sample(source.faults(base, plugins), programs)
        prompts = AdvicePrompts(base.name, base.prompt, failed, context)
        _announce(base, prompts)
        with EndpointSession(endpoint, prompts.max_completion_tokens, prompts.request_count) as session:
            advice = request_advice(prompts, session.complete)
    if advice:
        _write(target, base, advice)
    _report(session, endpoint, prompts, advice, target, as_json)
    if not advice:
        problem = f"no usable advice from {endpoint.model!r}, nothing was written"
        raise AgnosticsError(f"{endpoint.display_url}: {problem}; name a more capable --model")
    return 0


def _announce(language: Language, prompts: AdvicePrompts) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(prompts).items())
    console.print(f"showing {plural(len(prompts.included), 'failed program')}: {counts}", markup=False)
    if left_out := len(prompts.programs) - len(prompts.included):
        console.print(f"{left_out} more do not fit; raise --context to include them", markup=False)
    if language.support_files():
        console.print(
            f"warning: the pack of {language.name} has files that a YAML file cannot hold: copy the prompt from the "
            "file into the pack",
            markup=False,
        )


def _verdicts(prompts: AdvicePrompts) -> dict[str, int]:
    return dict(Counter(str(failed.verdict) for failed in prompts.included))


def _write(path: Path, language: Language, advice: Sequence[str]) -> None:
    """Write `language` with the advice after its prompt, as a file for `--language`."""
    if len(advice) < MIN_SENTENCES:
        expected = f"{MIN_SENTENCES} to {MAX_SENTENCES}"
        console.print(f"warning: {plural(len(advice), 'sentence')} of advice, not {expected}", markup=False)
    fields = {**fields_of(language), "prompt": prompt_with_advice(language.prompt, advice)}
    atomic_write_text(path, yaml_text(fields))


def _report(
    session: EndpointSession,
    endpoint: Endpoint,
    prompts: AdvicePrompts,
    advice: Sequence[str],
    path: Path,
    as_json: bool,
) -> None:
    if as_json:
        names = {"language": prompts.language, "model": endpoint.model, "endpoint": endpoint.display_url}
        file = str(path) if advice else None
        print_json({**names, "file": file, "sentences": advice, "programs": _verdicts(prompts), **session.costs})
    elif advice:
        click.echo("\n".join([*(f"- {sentence}" for sentence in advice), "", f"{path}", "next:"]))
        click.echo(f"  agn run --language {path}")
