"""`agn languages new`: a language pack to start from, which passes its own tests as it is written."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from pathlib import Path

import click

from agnostics.cli.output import words
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.language import NAME_PATTERN

TEMPLATE = "templates/language_pack"


@click.command()
@click.argument("name")
@click.option("--into", type=click.Path(path_type=Path), help="The folder to write; agnostics-lang-NAME if not given.")
def new(name: str, into: Path | None) -> None:
    """Write a pack for the language NAME that pip installs: configuration, programs, tests."""
    _require_free(name)
    package = re.sub(r"[^a-z0-9]+", "_", name.replace("+", "p")).strip("_")
    dashed = package.replace("_", "-")
    target = into or Path(f"agnostics-lang-{dashed}")
    _write(target, {"name": name, "package": package, "dashed": dashed})
    click.echo(target)
    words.print(
        f"next:\n  pip install -e '{target}[test]'\n  pytest {target}\n  agn languages check {name}", markup=False
    )


def _require_free(name: str) -> None:
    """Raises UsageError where `name` names no language, or one that is here."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"{name!r} cannot name a language: lower-case letters and digits, then also _ + . -")
    plugins = load_plugins()
    if name in plugins.languages():
        raise UsageError(f"{plugins.origin(name)} provides {name} already; two packs with one name disable each other")


def _write(target: Path, values: dict[str, str]) -> None:
    """The template with `values` in place. Raises UsageError where `target` is there or cannot be written."""
    try:
        target.mkdir(parents=True)
        with as_file(files("agnostics") / TEMPLATE) as template:
            for source in sorted(path for path in template.rglob("*") if _belongs(path)):
                _copy(source, target / _placed(source.relative_to(template), values["package"]), values)
    except FileExistsError as error:
        raise UsageError(f"{target} is there already; name another folder with --into") from error
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}") from error


def _belongs(path: Path) -> bool:
    """Whether `path` is a file of the template: pip leaves compiled copies of its modules beside them."""
    return path.is_file() and "__pycache__" not in path.parts


def _placed(path: Path, package: str) -> Path:
    """Where a file of the template goes: `package` is called after the language."""
    first, *rest = path.parts
    return Path(f"agnostics_lang_{package}" if first == "package" else first, *rest)


def _copy(source: Path, target: Path, values: dict[str, str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    text = source.read_text(encoding="utf-8")
    target.write_text(re.sub(r"@(\w+)@", lambda found: values[found[1]], text), encoding="utf-8")
