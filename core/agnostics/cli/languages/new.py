"""`agn languages new`: creates a language pack from a template that passes its own tests."""

from __future__ import annotations

import re
from importlib.resources import as_file, files
from pathlib import Path

import click

from agnostics.cli.output import console
from agnostics.plugins.manager import load_plugins
from agnostics.types.errors import UsageError
from agnostics.types.language import NAME_PATTERN

TEMPLATE = "templates/language_pack"


@click.command()
@click.argument("name")
@click.option("--into", type=click.Path(path_type=Path), help="The new folder; agnostics-lang-NAME by default.")
def new(name: str, into: Path | None) -> None:
    """Create a pack for the language NAME that pip installs: configuration, programs, tests."""
    _require_free(name)
    package = re.sub(r"[^a-z0-9]+", "_", name.replace("+", "p")).strip("_")
    dashed = package.replace("_", "-")
    target = into or Path(f"agnostics-lang-{dashed}")
    _write(target, {"name": name, "package": package, "dashed": dashed})
    click.echo(target)
    console.print(
        f"next:\n  pip install -e '{target}[test]'\n  pytest {target}\n  agn languages check {name}", markup=False
    )


def _require_free(name: str) -> None:
    """Raises UsageError if `name` is no valid name, or the name of an installed language."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageError(f"{name!r} cannot name a language: lower-case letters and digits, then also _ + . -")
    plugins = load_plugins()
    if name in plugins.languages():
        raise UsageError(f"{plugins.origin(name)} provides {name} already; two packs with one name disable each other")


def _write(target: Path, values: dict[str, str]) -> None:
    """Copy the template with `values` filled in. Raises UsageError if `target` exists or cannot be written."""
    try:
        target.mkdir(parents=True)
        with as_file(files("agnostics") / TEMPLATE) as template:
            for source in sorted(path for path in template.rglob("*") if _is_template_file(path)):
                _copy(source, target / _target_path(source.relative_to(template), values["package"]), values)
    except FileExistsError as error:
        raise UsageError(f"{target}: already there; name another folder with --into") from error
    except OSError as error:
        raise UsageError(f"{target}: {error.strerror}; name another folder with --into") from error


def _is_template_file(path: Path) -> bool:
    """True for files of the template; pip leaves compiled modules beside them."""
    return path.is_file() and "__pycache__" not in path.parts


def _target_path(path: Path, package: str) -> Path:
    """The path of a template file in the pack, in which the folder `package` is named after the language."""
    first, *rest = path.parts
    return Path(f"agnostics_lang_{package}" if first == "package" else first, *rest)


def _copy(source: Path, target: Path, values: dict[str, str]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    text = source.read_text(encoding="utf-8")
    target.write_text(re.sub(r"@(\w+)@", lambda match: values[match[1]], text), encoding="utf-8")
