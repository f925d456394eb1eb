"""Reader of problem packages in folders and archives, in each version of the format."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cached_property
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any

import yaml
from agnostics import Test, UsageError
from pydantic import BeforeValidator, Field

from agnostics_datasets.records import Fields

_STATEMENTS = ("problem_statement", "statement")
_ARCHIVES = {".zip", ".kpp"}


def words(value: Any) -> list[str]:
    """The words in a list, in one text (older versions of the format), or a single number."""
    return list(map(str, value)) if isinstance(value, list) else str("" if value is None else value).split()


Words = Annotated[list[str], BeforeValidator(words)]


class PackageLimits(Fields):
    """The limits that are read: seconds, and MiB."""

    time_limit: float | None = None
    memory: float | None = None
    output: float | None = None


class About(Fields):
    """The fields of `problem.yaml` that are read."""

    name: str | dict[str, str] | None = None
    type: Words = Field(["pass-fail"], validate_default=True)
    validation: Words = Field(default_factory=list)
    validator_flags: Words = Field(default_factory=list)
    license: str | None = None
    source: Any = None
    keywords: Words = Field(default_factory=list)
    limits: Annotated[PackageLimits, BeforeValidator(lambda value: value or {})] = PackageLimits()

    @property
    def is_plain(self) -> bool:
        """Whether a program passes or fails, by itself, in one pass."""
        return self.type == ["pass-fail"] and not {"interactive", "score", "multi-pass"} & set(self.validation)

    @property
    def title(self) -> str | None:
        """The name, in English if there are several."""
        return (
            (self.name.get("en") or next(iter(self.name.values()), None)) if isinstance(self.name, dict) else self.name
        )


class Package:
    """A package: its root, its name (the folder's), and its location for error messages."""

    def __init__(self, root: Traversable, name: str, where: str) -> None:
        self.root, self.name, self.where = root, name, where

    @cached_property
    def about(self) -> About:
        """The content of `problem.yaml`. Raises ValueError if it is malformed."""
        return About.model_validate(read_yaml(self.root / "problem.yaml"))

    def statement(self) -> str | None:
        """The English statement, or the one without a language; None if there is none in text form."""
        for folder in _STATEMENTS:
            for name in ("problem.en.md", "problem.en.tex", "problem.md", "problem.tex"):
                if (file := self.root / folder / name).is_file():
                    return file.read_text(encoding="utf-8").strip()
        return None

    def tests(self, group: str) -> list[Test]:
        """The test cases of `sample` or `secret` and their subgroups. Raises ValueError for one without an answer."""
        return [Test(input=_text(given), output=_text(answer)) for given, answer in _cases(self.root / "data" / group)]

    def time_limit(self) -> float | None:
        """The seconds for a test, from `problem.yaml`, or from the files of Kattis and DOMjudge in older packages."""
        found = [self.about.limits.time_limit]
        if (file := self.root / ".timelimit").is_file():
            found.append(float(file.read_text()))
        if (file := self.root / "domjudge-problem.ini").is_file():
            stated = re.search(r"^\s*timelimit\s*=\s*['\"]?([\d.]+)", file.read_text(), re.MULTILINE)
            found.append(float(stated[1]) if stated else None)
        return next(filter(None, found), None)


def packages(source: str) -> Iterator[Package]:
    """The packages at `source`: one, in a folder or an archive, or all in a folder. Raises UsageError for none."""
    path = Path(source)
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    found = [path] if _is_package(path) else sorted(filter(_is_package, path.iterdir())) if path.is_dir() else []
    if not found:
        raise UsageError(f"{path}: neither a problem package (with problem.yaml, or a .zip of it) nor a folder of them")
    return (_opened(each) for each in found)


def read_yaml(file: Traversable) -> dict[str, Any]:
    """The mapping in a YAML file. Raises ValueError if it is not one."""
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{file.name}: {error}") from error
    if not isinstance(found, dict | None):
        raise ValueError(f"{file.name}: expected keys and values")
    return found or {}


def _is_package(path: Path) -> bool:
    return path.suffix in _ARCHIVES if path.is_file() else (path / "problem.yaml").is_file()


def _opened(path: Path) -> Package:
    if path.is_dir():
        return Package(path, path.resolve().name, str(path))
    try:
        top = zipfile.Path(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: not a .zip archive: {error}") from error
    roots = [root for root in (top, *top.iterdir()) if (root / "problem.yaml").is_file()]
    if not roots:
        raise UsageError(f"{path}: holds no problem.yaml")
    return Package(roots[0], path.stem, str(path))


def _cases(folder: Traversable) -> Iterator[tuple[Traversable, Traversable]]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _cases(entry)
        elif entry.name.endswith(".in"):
            answer = folder / f"{entry.name.removesuffix('.in')}.ans"
            if not answer.is_file():
                raise ValueError(f"{entry.name}: has no answer {answer.name}")
            yield entry, answer


def _text(file: Traversable) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")
