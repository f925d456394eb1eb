"""Runs tracers as a sandbox would, and checks every line that they write."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Event = dict[str, Any]
KEYS = {
    "call": {"e", "l", "d", "f", "v", "c", "s"},
    "line": {"e", "l", "d", "v", "g", "c", "s"},
    "return": {"e", "l", "d", "r", "c", "s"},
    "exception": {"e", "l", "d", "r", "c", "s"},
}


@dataclass(frozen=True)
class Traced:
    """A run of a program with a tracer: its process, its events, and the reason of the trace's end."""

    process: subprocess.CompletedProcess[bytes]
    events: list[Event]
    end: str | None

    def of(self, kind: str) -> list[Event]:
        """The events of this kind."""
        return [event for event in self.events if event["e"] == kind]

    def shown(self) -> list[str]:
        """Each event in a few words: `line 3 x=1`."""
        return [_shown(event) for event in self.events]


def run(
    command: Sequence[str | Path], folder: Path, given: bytes = b"", limits: Mapping[str, int] | None = None
) -> Traced:
    """Run `command` in `folder` with `given` as its input and these limits of the trace, and check its lines."""
    environment = {**os.environ, "AGN_TRACE": str(folder / "trace.jsonl")}
    environment |= {f"AGN_TRACE_{name}": str(value) for name, value in (limits or {}).items()}
    process = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, timeout=120, check=False
    )
    text = (folder / "trace.jsonl").read_text(encoding="ascii")
    (folder / "trace.jsonl").unlink()
    return Traced(process, *_checked(text, (limits or {}).get("VALUE", 1000)))


def _checked(text: str, limit: int) -> tuple[list[Event], str | None]:
    assert text.endswith("\n")
    lines = [json.loads(line) for line in text.splitlines()]
    end = lines.pop()["end"] if lines and set(lines[-1]) == {"end"} else None
    open_names: list[set[str]] = []
    for event in lines:
        _check_keys(event, limit)
        _check_scope(event, open_names)
    return lines, end


def _check_keys(event: Event, limit: int) -> None:
    assert set(event) <= KEYS[event["e"]], event
    assert (type(event["l"]), type(event["d"])) == (int, int), event
    assert min(event["l"] - 1, event["d"]) >= 0, event
    assert all(event[key] for key in event.keys() - {"l", "d", "f", "r"}), event
    texts = {**event.get("v", {}), **({"value": event["r"]} if "r" in event else {})}
    assert all(type(text) is str for text in texts.values()), event
    assert ("r" in event) == (event["e"] in {"return", "exception"}), event
    cut = set(event.get("c", ()))
    assert cut <= set(texts), event
    for name, text in texts.items():
        assert len(text) <= limit + (name in cut), event
        assert name not in cut or text.endswith("\u2026"), event


def _check_scope(event: Event, open_names: list[set[str]]) -> None:
    """Scopes are nested, a name goes only if it was there, and a scope is called before anything else of it."""
    if event["e"] == "call":
        assert event["d"] <= len(open_names), event
        del open_names[event["d"] :]
        open_names.append(set())
    assert event["d"] < len(open_names), event
    del open_names[event["d"] + 1 :]
    names = open_names[-1]
    assert set(event.get("g", ())) <= names, event
    names -= set(event.get("g", ()))
    names |= set(event.get("v", {}))
    if event["e"] in {"return", "exception"}:
        open_names.pop()


def _shown(event: Event) -> str:
    parts = [event["e"], str(event["l"]), event.get("f", ""), event.get("s", "")]
    parts += [f"{name}={text}" for name, text in event.get("v", {}).items()]
    parts += [f"-{name}" for name in event.get("g", ())]
    parts += [f"-> {event['r']}"] if event.get("r") else []
    return " ".join(part for part in parts if part)
