"""`agn languages`: which languages there are, what they are made of, their images, and whether they work here."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from agnostics.cli.output import print_json, print_table, words
from agnostics.errors import AgnosticsError, MissingRequirement
from agnostics.host import load_host
from agnostics.language import Language
from agnostics.sandbox.doctor import missing_tools

if TYPE_CHECKING:
    from docker import DockerClient

    from agnostics.dataset import Dataset
    from agnostics.verify import Verifier

json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout.")


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List, show, build and check languages."""
    if context.invoked_subcommand is None:
        _list(as_json)


@command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Each language, where it comes from, and what of it is on this machine."""
    _list(as_json)


@command.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Print the configuration of one language, as YAML that `--language FILE.yaml` takes."""
    language = load_host().language(name)
    fields = language.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"reference"})
    if as_json:
        print_json({**fields, "reference": sorted(language.reference)})
    else:
        click.echo(_yaml(fields), nl=False)


@command.command()
@click.argument("names", nargs=-1)
def build(names: tuple[str, ...]) -> int:
    """Make the container images of the languages NAMES (names or YAML files), or of all; those that are there stay."""
    from agnostics.sandbox.engine import connect

    host = load_host()
    languages = [host.language(name) for name in names] or list(host.languages().values())
    client = connect()
    return max([_build(client, language) for language in languages], default=0)


@command.command()
@click.argument("names", nargs=-1)
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@json_option
def check(names: tuple[str, ...], sandbox: str, as_json: bool) -> int:
    """Run right programs, wrong ones and cheats of NAMES, or of all languages that can run here, on starter tasks.

    Exit status 1 where a verdict is not as due.
    """
    from agnostics.verify import Verifier

    host = load_host()
    languages = [host.language(name) for name in names] or list(host.languages().values())
    starter, _ = host.dataset("starter")
    with Verifier(sandbox) as verifier:
        checks = [_check(language, starter, verifier, required=bool(names)) for language in languages]
        mode = verifier.mode
    if as_json:
        print_json({"sandbox": mode, "languages": [asdict(one) for one in checks]})
    else:
        _show_checks(checks, mode)
    return 1 if any(one.failed for one in checks) else 0


@dataclass(frozen=True)
class _Check:
    """What came of checking one language. `missing` says why nothing could be run."""

    language: str
    right: int = 0
    false_negatives: int = 0
    cheats: int = 0
    false_positives: int = 0
    failed: tuple[str, ...] = ()
    missing: str | None = None


def _check(language: Language, dataset: Dataset, verifier: Verifier, *, required: bool) -> _Check:
    from agnostics.testing.languages import check_language

    words.print(f"checking {language.name}")
    try:
        claims = list(check_language(language, dataset.tasks("test"), verifier))
    except MissingRequirement as error:
        if required:
            raise
        return _Check(language.name, missing=str(error))
    right, cheats = ([claim for claim in claims if claim.kind == kind] for kind in ("right", "cheat"))
    return _Check(
        language.name,
        len(right),
        sum(not claim.holds for claim in right),
        len(cheats),
        sum(not claim.holds for claim in cheats),
        tuple(f"{claim.text}: {claim.found}" for claim in claims if not claim.holds),
    )


def _show_checks(checks: list[_Check], mode: str) -> None:
    heads = ["language", "right programs", "refused of them", "cheats", "accepted of them", ""]
    rows = [
        (one.language, one.right, one.false_negatives, one.cheats, one.false_positives, one.missing or "")
        for one in checks
    ]
    print_table(heads, rows)
    for one in checks:
        for text in one.failed:
            click.echo(f"{one.language}: {text}")
    right, refused = sum(one.right for one in checks), sum(one.false_negatives for one in checks)
    if right:
        click.echo(f"false negatives in {mode} mode: {refused} of {right} ({refused / right:.2%})")


@dataclass(frozen=True)
class _Entry:
    """One line of the list. `missing` are the commands that this machine lacks; `image` is None where there is none."""

    name: str
    origin: str
    compiles: bool
    missing: list[str]
    image: str | None
    prompt: str


def _list(as_json: bool) -> None:
    host = load_host()
    client = _engine()
    entries = [_entry(language, host.origin(name), client) for name, language in sorted(host.languages().items())]
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = [
        (e.name, e.origin, "yes" if e.compiles else "", _toolchain(e.missing), e.image or "not built", e.prompt)
        for e in entries
    ]
    print_table(["name", "from", "compiled", "toolchain here", "image", "prompt"], rows)


def _entry(language: Language, origin: str, client: DockerClient | None) -> _Entry:
    from agnostics.sandbox.images import built_image

    return _Entry(
        language.name,
        origin,
        language.compile is not None,
        missing_tools(language),
        built_image(client, language) if client else None,
        language.prompt.strip().splitlines()[0],
    )


def _engine() -> DockerClient | None:
    """The container engine, where one answers: without one no image is built."""
    from agnostics.sandbox.engine import connect

    try:
        return connect()
    except MissingRequirement:
        return None


def _toolchain(missing: list[str]) -> str:
    return f"no {', '.join(missing)}" if missing else "yes"


def _build(client: DockerClient, language: Language) -> int:
    """Make one image; the exit status. One that cannot be made does not keep the others from it."""
    from agnostics.sandbox.images import ensure_image

    try:
        image = ensure_image(client, language, lambda line: words.print(Text(line)))
    except AgnosticsError as error:
        click.echo(f"agn: {error}", err=True)
        return error.exit_code
    click.echo(f"{language.name} {image}")
    return 0


def _yaml(fields: dict[str, Any]) -> str:
    """`fields` as YAML in their order, texts of several lines as they stand."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return yaml.dump(fields, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
