"""The comparison of a package: flags of the default validator, or an output validator as a checker."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from agnostics import FILE_NAME_PATTERN, Checker, Comparison

from agnostics_datasets.kattis.package import Package, read_yaml, words

_FOLDERS = "agn_folders.sh"
"""The script that creates folders; the language `kattis-validator` runs it first."""
_GROUP_FILES = ("testdata.yaml", "test_group.yaml")
_GROUP_FLAGS = ("output_validator_flags", "output_validator_args")
_CPP = (".cc", ".C", ".cpp", ".cxx", ".c++")
_PYTHON = (".py", ".py3")
_TOLERANCES = {"float_tolerance", "float_relative_tolerance", "float_absolute_tolerance"}


def comparison(package: Package) -> Comparison | None:
    """The comparison of outputs; None if it is not supported. Raises ValueError for malformed flags."""
    flags = _flags(package)
    if flags is None:
        return None
    program = _program(package)
    if program is None:
        return _default(flags) if package.about.validation[:1] != ["custom"] else None
    checker = _checker(program, flags)
    return Comparison(mode="checker", checker=checker) if checker else None


def _program(package: Package) -> list[Traversable] | None:
    """The files of the output validator; None if the default one is used, or there are several."""
    if package.about.validation[:1] != ["custom"]:
        return _entries(package.root / "output_validator") or None  # since the format 2023-07
    programs = _entries(package.root / "output_validators")
    if len(programs) != 1:
        return None
    return programs if programs[0].is_file() else _entries(programs[0])


def _flags(package: Package) -> list[str] | None:
    """The flags of the whole package; None if a test group has its own."""
    flags = [package.about.validator_flags]
    for group in _groups(package.root / "data"):
        settings = [read_yaml(group / name) for name in _GROUP_FILES if (group / name).is_file()]
        flags += [words(_flags_of(each[key])) for each in settings for key in _GROUP_FLAGS if key in each]
    distinct = {tuple(each) for each in flags if each}
    return None if len(distinct) > 1 else list(next(iter(distinct), ()))


def _flags_of(value: Any) -> Any:
    """The flags, also from a mapping that names their validator."""
    return value.get("flags") if isinstance(value, dict) else value


def _groups(folder: Traversable) -> Iterator[Traversable]:
    if folder.is_dir():
        yield folder
        for entry in folder.iterdir():
            if entry.is_dir():
                yield from _groups(entry)


def _default(flags: list[str]) -> Comparison | None:
    """The mode for flags of the default validator; None for significant spaces together with a float tolerance."""
    rest, exact, tolerances = iter(flags), False, dict[str, float]()
    for word in rest:
        if word in _TOLERANCES:
            tolerances[word] = float(next(rest, "nothing"))
        elif word == "space_change_sensitive":
            exact = True
        elif word != "case_sensitive":
            raise ValueError(f"validator_flags: {word!r} is no flag of the default validator")
    if not tolerances:
        return Comparison(mode="exact" if exact else "tokens")
    both = tolerances.get("float_tolerance", 0.0)
    absolute, relative = (tolerances.get(f"float_{kind}_tolerance", both) for kind in ("absolute", "relative"))
    return None if exact else Comparison(mode="floats", absolute=absolute, relative=relative)


def _checker(program: list[Traversable], flags: list[str]) -> Checker | None:
    """The checker that builds and runs a validator; None if a file name or its language is not supported."""
    sources = {path: file.read_bytes().decode("utf-8", "surrogateescape") for path, file in _walk(program)}
    if not all(re.match(FILE_NAME_PATTERN, part) for path in sources for part in path.split("/")):
        return None
    scripts = _scripts(sorted(sources))
    if scripts is None:
        return None
    wrapper = (files(__package__) / "checker.sh.in").read_text(encoding="utf-8").replace("@FLAGS@", shlex.join(flags))
    return Checker(language="kattis-validator", program=wrapper, files={**_flat(sources), **scripts})


def _walk(entries: Iterable[Traversable], above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Every file with its path, recursively."""
    for entry in entries:
        if entry.is_file():
            yield above + entry.name, entry
        else:
            yield from _walk(_entries(entry), f"{above}{entry.name}/")


def _flat(sources: dict[str, str]) -> dict[str, str]:
    """The same files in a flat folder: a script creates the subfolders and copies the files into them."""
    names = {path: f"agn_file.{number}" if "/" in path else path for number, path in enumerate(sources)}
    copies = "".join(
        f"mkdir -p {shlex.quote(path.rpartition('/')[0])} && cp {name} {shlex.quote(path)} || exit 1\n"
        for path, name in names.items()
        if name != path
    )
    flat = {names[path]: text for path, text in sources.items()}
    return {**flat, _FOLDERS: copies} if copies else flat


def _scripts(names: list[str]) -> dict[str, str] | None:
    """The scripts `build` and `run` for files of these names, if they do not include their own.

    As `detect_language` and `SourceCode` of problemtools: the language with the most files, C++ before Python, and for
    Python the file named main, else the first. None if there is no file of either.
    """
    if "build" in names:
        return {}
    cpp, python = ([name for name in names if name.endswith(suffixes)] for suffixes in (_CPP, _PYTHON))
    if not cpp and not python:
        return None
    if len(cpp) >= len(python):
        return {"build": f"#!/bin/sh\nexec g++ -O2 -std=gnu++23 -o run {shlex.join(cpp)} -lpthread\n"}
    main = next((path for path in python if path.rpartition("/")[2].lower().startswith("main.")), python[0])
    return {"run": f'#!/bin/sh\nexec python3 {main} "$@"\n'}


def _entries(folder: Traversable) -> list[Traversable]:
    if not folder.is_dir():
        return []
    return sorted((entry for entry in folder.iterdir() if entry.name[0] != "."), key=lambda entry: entry.name)
