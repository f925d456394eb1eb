"""Protocols: the rules of an agent session, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.language import NAME_PATTERN
from agnostics.types.task import Frozen
from agnostics.types.yaml_file import read_yaml

PRESETS = Path(__file__).parent / "protocols"
"""The folder of the built-in protocols, one YAML file each."""

Feedback = Literal["count", "verdicts"]
HostLanguage = Literal["any", "none", "python", "javascript", "rust"]
SkipPolicy = Literal["after_submissions", "always", "never"]


class Protocol(Frozen):
    """The rules of an agent session. The defaults are those of the primary protocol (table 4)."""

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    submissions: Annotated[int, Field(ge=1)] = 3
    """Submissions of each problem to its hidden tests."""
    runs: Annotated[int, Field(ge=0)] | None = None
    """Runs of each problem on inputs of the player's choice; None for any number.

    A player with a limit must not have the interpreter in its box: runs are then the referee's alone.
    """
    feedback: Feedback = "count"
    """What a submission returns: the number of hidden tests passed (section 2), or the verdict of each (A.12.1)."""
    host_language: HostLanguage = "any"
    """The language in which a player may write generators: `any` installed in the box, one of them, or none."""
    advice: str = ""
    """A text that is added to the prompt."""
    library: bool = False
    """Whether the language's reference library is in the workspace."""
    skip: SkipPolicy = "after_submissions"
    """When a player may leave a problem that is not solved: with no submission left, at any time, or never."""
    output_tokens: Annotated[int, Field(ge=1)] | None = 32_768
    """The most tokens that a model may sample in one turn; None for no limit."""


def protocol_names() -> list[str]:
    """The names of the built-in protocols."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def load_protocol(name: str) -> Protocol:
    """The built-in protocol called `name`, or the one in the YAML file `name`, which is named after its file.

    Raises UsageError with the nearest name, or with the file and the key that is wrong.
    """
    if name.endswith((".yaml", ".yml")):
        return _read(Path(name))
    if name not in protocol_names():
        raise unknown_name_error("protocol", name, protocol_names())
    return _read(PRESETS / f"{name}.yaml")


def _read(path: Path) -> Protocol:
    _, data = read_yaml(path)
    if data is not None and not isinstance(data, dict):
        raise UsageError(f"{path}: expected a mapping with keys such as submissions")
    fields = {"name": path.stem.lower(), **(data or {})}
    if strange := [key for key in fields if key not in Protocol.model_fields]:
        raise UsageError(f"{path}: {unknown_name_error('key', str(strange[0]), Protocol.model_fields)}")
    try:
        return Protocol.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
