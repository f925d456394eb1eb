"""Execution traces: the events of a program, in the same form for every language."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["call", "line", "return", "exception"]
MODULE = "<module>"
"""The name of the outermost scope of a program."""
COMPLETE = "complete"
"""The end of a trace that no limit has cut."""
KILLED = "killed"
"""The end of a trace whose program was killed, or left without its tracer."""
_LINE_ENDS = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One step of a program.

    At a call or a line, the state is that before the line is executed; `changed` are the locals that are new or have
    other values than at the previous event of the scope, in its order, and `gone` those that are no more. Values are
    texts; `cut` names those of which only the beginning is there, `value` among them for that of the event.
    """

    kind: Kind
    line: int
    """The line of the program, from 1."""
    depth: int
    """0 for the outermost scope that is traced."""
    name: str = MODULE
    """The name of the function, "" or "<module>" for the outermost scope of a program."""
    source: str = ""
    """The text of what is executed: the line of the program, or an instruction of it."""
    changed: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    value: str | None = None
    """The value returned or the exception raised."""
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of a program, and the way that they ended: "complete", a limit, "removed" or "killed"."""

    program: str
    events: tuple[TraceEvent, ...]
    ended: str = COMPLETE

    @property
    def is_complete(self) -> bool:
        """Whether no limit has cut it, and the program neither left it nor was killed."""
        return self.ended == COMPLETE


def source_lines(program: str) -> list[str]:
    """The lines of a program without their ends, as compilers count them."""
    return _LINE_ENDS.split(program)


def scope_locals(events: Iterable[TraceEvent]) -> Iterator[dict[str, str]]:
    """The locals of the scope of each event, at that event: one new dictionary for each."""
    scopes: list[dict[str, str]] = []
    for event in events:
        del scopes[event.depth + (event.kind != "call") :]
        while len(scopes) <= event.depth:
            scopes.append({})
        scope = scopes[event.depth]
        for name in event.gone:
            scope.pop(name, None)
        scope.update(event.changed)
        yield dict(scope)
