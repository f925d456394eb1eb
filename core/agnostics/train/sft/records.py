"""Training examples as they are written in files: JSON Lines or Parquet, one example per line or row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.text import first_line

_FIELDS = '"prompt" and "completion", "messages", or "text"'
_PARQUET_ROWS = 1000


@dataclass(frozen=True, slots=True)
class PromptCompletion:
    """A user's message and the answer to it, which is trained. `system` is the system prompt, if it has its own."""

    prompt: str
    completion: str
    system: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages as a chat template takes them; those of the role `assistant` are trained.

    If they are `append_only`, each after the first answer is added to the tokens before it, as in an episode of
    `agn run`; else the template renders the whole conversation for each answer, and may change earlier ones.
    """

    messages: tuple[Mapping[str, Any], ...]
    append_only: bool = False


@dataclass(frozen=True, slots=True)
class PlainText:
    """A text, all of which is trained."""

    text: str


TrainingRecord = PromptCompletion | Conversation | PlainText


def read_records(path: Path) -> Iterator[tuple[str, TrainingRecord]]:
    """The records of `path`, and the place of each, as in `data.jsonl:3`.

    Raises UsageError, with the file and the line or row, for the first that is damaged or empty; MissingRequirement if
    a Parquet file cannot be read for want of pyarrow.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    rows = _parquet_rows(path) if path.suffix == ".parquet" else _json_lines(path)
    for number, row in rows:
        place = f"{path}:{number}"
        yield place, _parsed(row, place)


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of the lines that are not blank, with their numbers from 1."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield number, _json_value(line, f"{path}:{number}")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _json_value(line: bytes, place: str) -> Any:
    try:
        return json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place}: not a line of JSON: {first_line(error)}") from error


def _parquet_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """The rows, with their numbers from 1."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise MissingRequirement(f"{error.name} is not installed; run: pip install 'agnostics[frames]'") from error
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_PARQUET_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (OSError, pyarrow.ArrowException) as error:
        raise UsageError(f"{path}:{number + 1}: not a readable Parquet file: {first_line(error)}") from error


def _parsed(row: Any, place: str) -> TrainingRecord:
    if not isinstance(row, dict):
        raise UsageError(f"{place}: expected an object with {_FIELDS}")
    given = {key: value for key, value in row.items() if value is not None}
    if "messages" in given:
        append_only = bool(given.get("append_only", False))
        messages = _messages(given["messages"], place, may_be_blank=append_only)
        if append_only:
            _check_alternation(messages, place)
        return Conversation(messages, append_only)
    if "prompt" in given and "completion" in given:
        system = _text(given, "system", place) if "system" in given else None
        return PromptCompletion(_text(given, "prompt", place), _text(given, "completion", place), system)
    if "text" in given:
        return PlainText(_text(given, "text", place))
    raise UsageError(f"{place}: expected {_FIELDS}; the keys are {', '.join(map(str, given)) or 'none'}")


def _messages(messages: Any, place: str, *, may_be_blank: bool) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        raise UsageError(f'{place}: "messages" is not a list of objects with "role" and "content"')
    kept = tuple({key: value for key, value in message.items() if value is not None} for message in messages)
    for number, message in enumerate(kept, start=1):
        _text(message, "role", f"{place}: message {number}")
        if message["role"] == "assistant" or "content" in message:
            _text(message, "content", f"{place}: message {number}", may_be_blank=may_be_blank)
    if not any(message["role"] == "assistant" for message in kept):
        raise UsageError(f"{place}: no message is of the assistant, so that there is nothing to train")
    if kept[0]["role"] == "assistant":
        raise UsageError(f"{place}: the first message is of the assistant, which has nothing to answer")
    return kept


def _check_alternation(messages: Sequence[Mapping[str, Any]], place: str) -> None:
    """Raise UsageError unless each message between two answers is one of the user or of a tool, with a content."""
    first = next(number for number, message in enumerate(messages) if message["role"] == "assistant")
    for number, message in enumerate(messages[first:]):
        expected = ("user", "tool") if number % 2 else ("assistant",)
        if message["role"] not in expected or "content" not in message:
            raise UsageError(
                f"{place}: message {first + number + 1}: an append-only conversation has one message of the user or of "
                "a tool between two answers"
            )


def _text(fields: Mapping[str, Any], name: str, place: str, *, may_be_blank: bool = False) -> str:
    """The field `name`: a text that is valid Unicode, and not blank unless it may be, as the output of a tool."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise UsageError(f'{place}: "{name}" is not a text but {"missing" if value is None else repr(value)[:40]}')
    if not value.strip() and not may_be_blank:
        raise UsageError(f'{place}: "{name}" is empty')
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f'{place}: "{name}" is not valid Unicode: {error.reason}') from error
    return value
