"""The operations of a player by name, as they come over a socket or as tools of an MCP server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from agnostics.referee.referee import Referee
from agnostics.referee.replies import Reply, escaped

Operation = Callable[..., Reply]

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "fetch": (),
    "run": ("program", "stdin"),
    "submit": ("problem", "program"),
    "status": (),
    "skip": (),
    "export": (),
}
"""The arguments of each operation, in their order; all are texts."""


def perform(referee: Referee, operation: str, arguments: Sequence[str]) -> Reply:
    """Carry out an operation. One that is unknown or has other arguments is refused, and recorded."""
    if operation not in ARGUMENTS:
        known = ", ".join(ARGUMENTS)
        return referee.refuse(escaped(operation), "unknown_operation", f"there is no such operation; there are {known}")
    if len(arguments) != len(ARGUMENTS[operation]):
        expected = ", ".join(ARGUMENTS[operation]) or "no arguments"
        return referee.refuse(operation, "malformed", f"{operation} takes {expected}")
    carry_out: Operation = getattr(referee, operation)
    return carry_out(*arguments)


def as_json(reply: Reply) -> str:
    """A reply as one line of JSON, in ASCII: status, text and data."""
    return json.dumps({"status": reply.status, "text": reply.text, "data": reply.data})
