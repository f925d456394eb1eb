"""The use of tools: the calls in an action, carried out in a session one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agnostics.environments.environment import Episode
from agnostics.environments.tools.call import MalformedCall, ToolCall, parse_calls
from agnostics.environments.tools.tool import Tool, ToolLimits
from agnostics.sandbox.session import Session
from agnostics.types.rollout import Action, ToolCallRecord

_MAX_COMMAND_S = 600.0
"""Below the time for which a run waits for a sign of life."""


def check_command_s(command_s: float) -> None:
    """Raise ValueError for seconds that no call can have."""
    if not 0 < command_s <= _MAX_COMMAND_S:
        raise ValueError(f"command_s = {command_s!r}: a call has more than 0 and at most {_MAX_COMMAND_S:g} seconds")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The calls of an action with their outputs. `submission` is the file that a call has submitted, if one has."""

    records: tuple[ToolCallRecord, ...]
    submission: bytes | None = None

    @property
    def output(self) -> str:
        """What the policy is told: the outputs of all calls."""
        return "\n\n".join(record.output for record in self.records)


async def use_tools(
    episode: Episode, session: Session, action: Action, tools: Sequence[Tool], command_s: float
) -> ToolUse:
    """Carry out the calls in `action`, up to a submission; `command_s` are the seconds of a call.

    A call that cannot be read gets an output that says so. Raises SessionError if the sandbox fails.
    """
    records = list[ToolCallRecord]()
    limits = ToolLimits(run_s=command_s)
    for call in parse_calls(action.text, episode.call_form, tools):
        if isinstance(call, MalformedCall):
            records.append(ToolCallRecord(tool="", arguments={}, output=f"error: {call.reason}", ok=False))
            continue
        tool = next(tool for tool in tools if tool.name == call.name)
        result = await episode.in_thread(tool.run, session, call.arguments, limits)
        records.append(_record(call, result.output, ok=result.ok, wall_ms=result.wall_ms))
        if result.submission is not None:
            return ToolUse(tuple(records), result.submission)
    return ToolUse(tuple(records))


def _record(call: ToolCall, output: str, *, ok: bool, wall_ms: float) -> ToolCallRecord:
    return ToolCallRecord(tool=call.name, arguments=call.arguments, output=output, ok=ok, wall_ms=wall_ms)
