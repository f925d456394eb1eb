"""`agn languages check`: runs the contract suite, reference programs and shortcut probes of languages."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import console, json_option, print_json, print_table
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language

if TYPE_CHECKING:
    from agnostics.types.task import Task
    from agnostics.verify import Verifier


@click.command()
@click.argument("names", nargs=-1)
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@json_option
def check(names: tuple[str, ...], sandbox: str, as_json: bool) -> int:
    """Check the contract of NAMES (names or YAML files), their reference programs, and shortcut probes.

    Without NAMES, checks all languages that run on this machine. Exit status 1 if a verdict is not as expected.
    """
    from agnostics.verify import Verifier

    plugins = load_plugins()
    languages = [plugins.language(name) for name in names] or list(plugins.languages().values())
    tasks = list(plugins.dataset("starter")[0].tasks("test")) if "starter" in plugins.datasets() else []
    with Verifier(sandbox, backends=plugins.sandboxes()) as verifier:
        checks = [_check(language, tasks, verifier, required=bool(names)) for language in languages]
        mode = verifier.mode
    if as_json:
        print_json({"sandbox": mode, "languages": [asdict(one) for one in checks]})
    else:
        _print_checks(checks, mode)
    return 1 if any(one.failed for one in checks) else 0


@dataclass(frozen=True)
class _Check:
    """The result for one language: programs of each kind, and those among them with an unexpected verdict.

    `missing` is the reason why nothing could be run.
    """

    language: str
    contract: int = 0
    broken: int = 0
    reference: int = 0
    false_negatives: int = 0
    shortcuts: int = 0
    false_positives: int = 0
    failed: tuple[str, ...] = ()
    missing: str | None = None


def _check(language: Language, tasks: list[Task], verifier: Verifier, *, required: bool) -> _Check:
    from agnostics.testing.languages import check_language

    console.print(f"checking {language.name}")
    try:
        results = list(check_language(language, tasks, verifier))
    except MissingRequirement as error:
        if required:
            raise
        return _Check(language.name, missing=str(error))
    checked = Counter(result.kind for result in results)
    failed = Counter(result.kind for result in results if not result.met)
    return _Check(
        language.name,
        contract=checked["contract"],
        broken=failed["contract"],
        reference=checked["reference"],
        false_negatives=failed["reference"],
        shortcuts=checked["shortcut"],
        false_positives=failed["shortcut"],
        failed=tuple(f"{result.text}: {result.failure}" for result in results if not result.met),
    )


def _print_checks(checks: list[_Check], mode: str) -> None:
    columns = ["language", "contract", "broken", "reference programs", "rejected", "shortcuts", "accepted", ""]
    rows = [(*astuple(one)[:7], one.missing or "") for one in checks]
    print_table(columns, rows)
    for one in checks:
        for text in one.failed:
            click.echo(f"{one.language}: {text}")
    total, rejected = sum(one.reference for one in checks), sum(one.false_negatives for one in checks)
    if total:
        click.echo(f"false negatives in {mode} mode: {rejected} of {total} ({rejected / total:.2%})")
