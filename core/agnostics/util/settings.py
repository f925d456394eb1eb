"""Settings: pydantic models that are read from TOML and changed by `key=value`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from agnostics.types.errors import UsageError, unknown_name_error

PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
NonNegativeFloat = Annotated[float, Field(ge=0)]
Settings = TypeVar("Settings", bound=BaseModel)
Item = TypeVar("Item")


def load_settings(
    model: type[Settings], path: Path | None, overrides: Iterable[str], options: Mapping[str, Any]
) -> Settings:
    """The settings in the TOML file `path`, with `options` and then every `key=value` of `overrides` set.

    Raises UsageError for a file that cannot be read, an unknown key (with the nearest) or a value out of range.
    """
    data = _read(path) if path else {}
    data.update({key: value for key, value in options.items() if value is not None})
    for override in overrides:
        _set(data, override)
    _check_keys(data, model)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        if first["type"] == "value_error":  # about several settings together
            message = first["msg"].removeprefix("Value error, ")
            raise UsageError(f"{place}: {message}" if place else message) from error
        raise UsageError(f"{place}: {first['msg']}, got {first['input']!r}") from error


def parse_options(overrides: Iterable[str]) -> dict[str, Any]:
    """The values of `--set name=value` by name; a value is TOML if it parses as such, else a string.

    Raises UsageError for one without a name.
    """
    options: dict[str, Any] = {}
    for override in overrides:
        name, equals, text = override.partition("=")
        if not (equals and name.strip()):
            raise UsageError(f"--set {override}: expected name=value")
        options[name.strip()] = _value(text.strip())
    return options


def with_options(item: Item, noun: str, prefix: str, options: Mapping[str, Any]) -> Item:
    """A dataclass object with its fields set to `options`; `noun` names it in errors, where options follow `prefix`.

    Raises UsageError for an unknown field or a bad value.
    """
    known: list[str] = [field.name for field in fields(item)] if is_dataclass(item) else []
    for name, value in options.items():
        if name not in known:
            raise unknown_name_error(f"option of the {noun}", name, known)
        _check_option(type(item), prefix, name, value)
    try:
        return replace(item, **options) if options else item  # type: ignore[type-var]
    except ValueError as error:
        raise UsageError(f"{prefix.rstrip(' .')}: {error}") from error


def _check_option(owner: type[Any], prefix: str, name: str, value: object) -> None:
    """Raise UsageError if the value is not of the field's type."""
    try:
        TypeAdapter(get_type_hints(owner)[name]).validate_python(value, strict=True)
    except ValidationError as error:
        message = error.errors()[0]["msg"]
        raise UsageError(f"{prefix}{name}: {message}, got {value!r}") from error


def absolute_name(name: str) -> str:
    """The name of a language or a data set with its path made absolute: a file's, or that of `adapter:path`.

    A word without a suffix is not a path, even if a file of that name exists.
    """
    head, colon, tail = name.rpartition(":")
    return f"{head}{colon}{absolute_path(tail)}" if colon or Path(tail).suffix else name


def absolute_model(name: str) -> str:
    """A model's folder made absolute; `starter`, or a name on the hub, unchanged."""
    return name if name == "starter" else absolute_path(name)


def absolute_path(path: str) -> str:
    """The path of an existing file or folder made absolute; any other text unchanged."""
    return str(Path(path).expanduser().resolve()) if path and Path(path).expanduser().exists() else path


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such configuration file; try examples/starter-lua.toml") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


def _set(data: dict[str, Any], override: str) -> None:
    """Set one `a.b=value`; the value is TOML if it parses as such, else a string."""
    dotted, equals, text = override.partition("=")
    if not equals:
        raise UsageError(f"--set {override}: expected key=value, as in --set train.learning_rate=1e-5")
    *tables, key = dotted.strip().split(".")
    for table in tables:
        data = data.setdefault(table, {})
        if not isinstance(data, dict):
            raise UsageError(f"--set {override}: {table!r} is a value, not a table")
    data[key] = _value(text.strip())


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check_keys(data: Mapping[str, Any], model: type[BaseModel], prefix: str = "") -> None:
    """Raise UsageError for the first key that `model` does not have."""
    for key, value in data.items():
        if key not in model.model_fields:
            raise unknown_name_error("key", prefix + key, (prefix + name for name in model.model_fields))
        inner = model.model_fields[key].annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel) and isinstance(value, dict):
            _check_keys(value, inner, f"{prefix}{key}.")
