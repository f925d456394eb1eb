"""`agn languages advise`: have a capable model read faulty programs, and put its advice into the prompt."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from agnostics.analysis.advice.brief import Brief, advised
from agnostics.analysis.advice.consultation import consult
from agnostics.analysis.advice.faults import choose
from agnostics.analysis.advice.sentences import FEWEST, MOST
from agnostics.cli.asking import Asking, endpoint_options, open_endpoint
from agnostics.cli.languages.faulty import Source
from agnostics.cli.languages.yaml_text import fields_of, yaml_text
from agnostics.cli.output import json_option, print_json, words
from agnostics.inference.openai_client import Endpoint
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language

_POSITIVE = click.IntRange(min=1)


@click.command()
@click.argument("language")
@endpoint_options
@click.option("--run", help="Take the faulty programs of a run: an id, its beginning, or `last`.")
@click.option("--store", metavar="URL", help="The results database; the one in your data folder by default.")
@click.option("--sample", metavar="MODEL", help="Sample programs now: a model's folder, its hub name, or `starter`.")
@click.option("--dataset", help="The tasks that --sample attempts: a name, adapter:source, or a file.")
@click.option("--tasks", default=20, show_default=True, type=_POSITIVE, help="How many tasks --sample attempts.")
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    type=click.Choice(["vllm", "transformers"]),
    help="What --sample runs in.",
)
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--programs", default=40, show_default=True, type=_POSITIVE, help="How many faulty programs to show it.")
@click.option("--context", default=16_000, show_default=True, type=click.IntRange(min=1024), help="Tokens it can hold.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write; LANGUAGE-advised.yaml.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@json_option
def advise(
    language: str, output: Path | None, force: bool, as_json: bool, programs: int, context: int, **options: Any
) -> int:
    """Write a language file whose prompt holds advice from a capable model.

    The model behind --endpoint reads faulty programs in LANGUAGE (a name or a YAML file), from a run or sampled now,
    and distils 10 to 20 sentences of advice (section 3.2 of the paper). `agn run --language FILE` takes the file.
    """
    plugins = load_plugins()
    found = plugins.language(language)
    target = _target(output or Path(f"{found.name}-advised.yaml"), force)
    consulted = {name: options.pop(name) for name in ("url", "model", "key_from", "timeout_s", "retries")}
    source = Source(**options)
    with open_endpoint(**consulted) as endpoint:
        faults = choose(source.faults(found, plugins), programs)
        brief = Brief(found.name, found.prompt, faults, context)
        _announce(found, brief)
        with Asking(endpoint, brief.answer_tokens, brief.questions) as asking:
            advice = consult(brief, asking)
    if advice:
        _write(target, found, advice)
    _report(asking, endpoint, brief, advice, target, as_json)
    if not advice:
        said = f"nothing usable came back from {endpoint.model!r}"
        raise AgnosticsError(f"{endpoint.shown}: {said}, and nothing was written; name a more capable --model")
    return 0


def _target(path: Path, force: bool) -> Path:
    """`path`, where it can be written: what is asked for is paid for."""
    if path.suffix not in {".yaml", ".yml"}:
        raise UsageError(f"{path}: name a file that ends in .yaml, for --language to take it")
    if path.exists() and not force:
        raise UsageError(f"{path}: already there; name another with -o, or write over it with --force")
    if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise UsageError(f"{path}: no file can be written in that folder; name another with -o")
    return path


def _announce(language: Language, brief: Brief) -> None:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in _verdicts(brief).items())
    words.print(f"showing {len(brief.shown)} faulty programs: {counts}", markup=False)
    if left_out := len(brief.faults) - len(brief.shown):
        words.print(f"{left_out} more do not fit; a larger --context takes them in", markup=False)
    if language.support_files():
        words.print(
            f"warning: the pack of {language.name} brings files that no YAML file holds: copy the prompt from the "
            "file into the pack",
            markup=False,
        )


def _verdicts(brief: Brief) -> dict[str, int]:
    return dict(Counter(str(fault.verdict) for fault in brief.shown))


def _write(path: Path, language: Language, advice: Sequence[str]) -> None:
    """Write `language` with its prompt and then the advice, as a file for `--language`."""
    if len(advice) < FEWEST:
        words.print(f"warning: {len(advice)} sentences of advice came back, not {FEWEST} to {MOST}", markup=False)
    fields = {**fields_of(language), "prompt": advised(language.prompt, advice)}
    try:
        path.write_text(yaml_text(fields), encoding="utf-8")
    except OSError as error:
        raise AgnosticsError(f"{path}: {error.strerror}; make room there, or name another with -o") from error


def _report(asking: Asking, endpoint: Endpoint, brief: Brief, advice: Sequence[str], path: Path, as_json: bool) -> None:
    if as_json:
        names = {"language": brief.language, "model": endpoint.model, "endpoint": endpoint.shown}
        file = str(path) if advice else None
        print_json({**names, "file": file, "sentences": advice, "programs": _verdicts(brief), **asking.costs})
    elif advice:
        click.echo("\n".join([*(f"- {sentence}" for sentence in advice), "", f"{path}", "next:"]))
        click.echo(f"  agn run --language {path}")
