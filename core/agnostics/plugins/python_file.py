"""Objects in a Python file of the user's own, named as `path.py:NAME`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from agnostics.types.errors import UsageError, describe_error, unknown_name_error


def is_python_name(name: str) -> bool:
    """Whether `name` is `path.py:NAME`, or lacks only the NAME."""
    return name.endswith(".py") or name.rpartition(":")[0].endswith(".py")


def absolute_python_name(name: str) -> str:
    """The name with the path of its file, if it is in one, made absolute."""
    if not is_python_name(name):
        return name
    path, _, attribute = name.rpartition(":")
    return f"{Path(path).expanduser().resolve()}:{attribute}"


def load_object(name: str, noun: str) -> Any:
    """The object `path.py:NAME`; `noun` is the setting that names it, for errors.

    Raises UsageError for a file or a name that is not there.
    """
    if name.endswith(".py"):
        raise UsageError(f"{noun} {name!r} names nothing in the file; as in: --set {noun}={name}:NAME")
    path, _, attribute = absolute_python_name(name).rpartition(":")
    contents = vars(_module(Path(path), noun))
    if attribute not in contents:
        raise unknown_name_error(f"{noun} in {path}:", attribute, _own(contents, Path(path), noun))
    return contents[attribute]


def instance_of(made_by: Callable[[], Any], name: str) -> Any:
    """An object of the class called `name`. Raises UsageError with what its constructor raises."""
    try:
        return made_by()
    except Exception as error:
        raise UsageError(f"{name} raised {describe_error(error)}") from error


def _module(path: Path, noun: str) -> ModuleType:
    """The file `path`, run as a module."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file ({noun})")
    spec = spec_from_file_location(_module_name(path, noun), path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{path} cannot be imported: {describe_error(error)}") from error
    return module


def _own(contents: dict[str, Any], path: Path, noun: str) -> list[str]:
    """The names of the functions and classes that are written in the file."""
    module = _module_name(path, noun)
    return [name for name, value in contents.items() if getattr(value, "__module__", None) == module]


def _module_name(path: Path, noun: str) -> str:
    return f"agnostics_{noun}_{path.stem}"
