"""`agn languages check`: the contract suite, right programs and cheats, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, astuple, dataclass
from typing import TYPE_CHECKING

import click

from agnostics.cli.output import json_option, print_json, print_table, words
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
    """Try the contract of NAMES (names or YAML files), their right programs, and cheats.

    Without NAMES all languages that can run here are tried. Exit status 1 where a verdict is not as due.
    """
    from agnostics.verify import Verifier

    plugins = load_plugins()
    languages = [plugins.language(name) for name in names] or list(plugins.languages().values())
    tasks = list(plugins.dataset("starter")[0].tasks("test")) if "starter" in plugins.datasets() else []
    with Verifier(sandbox) as verifier:
        checks = [_check(language, tasks, verifier, required=bool(names)) for language in languages]
        mode = verifier.mode
    if as_json:
        print_json({"sandbox": mode, "languages": [asdict(one) for one in checks]})
    else:
        _show_checks(checks, mode)
    return 1 if any(one.failed for one in checks) else 0


@dataclass(frozen=True)
class _Check:
    """What came of checking one language: how many programs were run, and of how many the verdict was not as due.

    `missing` says why nothing could be run.
    """

    language: str
    contract: int = 0
    broken: int = 0
    right: int = 0
    false_negatives: int = 0
    cheats: int = 0
    false_positives: int = 0
    failed: tuple[str, ...] = ()
    missing: str | None = None


def _check(language: Language, tasks: list[Task], verifier: Verifier, *, required: bool) -> _Check:
    from agnostics.testing.languages import check_language

    words.print(f"checking {language.name}")
    try:
        claims = list(check_language(language, tasks, verifier))
    except MissingRequirement as error:
        if required:
            raise
        return _Check(language.name, missing=str(error))
    made = Counter(claim.kind for claim in claims)
    failed = Counter(claim.kind for claim in claims if not claim.holds)
    return _Check(
        language.name,
        contract=made["contract"],
        broken=failed["contract"],
        right=made["right"],
        false_negatives=failed["right"],
        cheats=made["cheat"],
        false_positives=failed["cheat"],
        failed=tuple(f"{claim.text}: {claim.found}" for claim in claims if not claim.holds),
    )


def _show_checks(checks: list[_Check], mode: str) -> None:
    heads = ["language", "contract", "broken", "right programs", "refused", "cheats", "accepted", ""]
    rows = [(*astuple(one)[:7], one.missing or "") for one in checks]
    print_table(heads, rows)
    for one in checks:
        for text in one.failed:
            click.echo(f"{one.language}: {text}")
    right, refused = sum(one.right for one in checks), sum(one.false_negatives for one in checks)
    if right:
        click.echo(f"false negatives in {mode} mode: {refused} of {right} ({refused / right:.2%})")
