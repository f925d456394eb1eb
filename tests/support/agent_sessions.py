"""A small data set for agent sessions in Brainfuck, and programs for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.session_rows import create_session
from agnostics.store import Store
from agnostics.types.task import Task, Test

COPY, FIRST, LOOP, INVALID = ",[.,]", ",.", "+[]", "]"
"""Programs that copy their input, copy its first character, never end, and are none."""
TIERS = {"E": "easy", "M": "medium"}


def task(name: str, **changes: Any) -> Task:
    """A problem of three hidden tests: copy the input. `FIRST` passes one of them, `COPY` all."""
    tests = tuple(Test(input=text, output=text) for text in (name[0], name, f"{name} {name}"))
    return Task(id=name, statement=f"Copy the input ({name}).", difficulty=TIERS[name[0]], tests=tests, **changes)


def write_tasks(path: Path, names: Iterable[str]) -> Path:
    """A file of tasks in the split test."""
    lines = [json.dumps({"split": "test", **task(name).model_dump(exclude_defaults=True)}) for name in names]
    path.write_text("\n".join(lines))
    return path


def write_programs(path: Path, programs: Iterable[tuple[str, str, list[str]]]) -> Path:
    """A file of recorded programs: a problem, a program and the inputs that it is run on."""
    keys = ("problem", "program", "inputs")
    path.write_text("\n".join(json.dumps(dict(zip(keys, line, strict=True))) for line in programs))
    return path


def create(store: Store, name: str, tasks: Iterable[Task], **protocol: Any) -> str:
    """A new session in Brainfuck with a protocol of its own; returns its name."""
    create_session(
        store,
        name,
        problems=[Problem(one) for one in tasks],
        protocol=Protocol(name="own", **protocol),
        language="brainfuck",
        dataset="invented",
        player="test",
    )
    return name


def without_times(export: dict[str, Any]) -> dict[str, Any]:
    """An export without its name and its times."""
    return {key: _timeless(value) for key, value in export.items() if key != "session" and not _is_time(key)}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if not _is_time(key)}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _is_time(key: str) -> bool:
    return key.endswith("_at") or key == "seconds"
