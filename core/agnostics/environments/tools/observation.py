"""What a model is shown of a command: its output as text, cut in the middle, and how it ended."""

from __future__ import annotations

from agnostics.environments.tools.tool import ToolLimits, ToolResult
from agnostics.sandbox.protocol import RunResult
from agnostics.types.verification import Verdict


def as_text(output: bytes) -> str:
    """An output as text. What is not UTF-8 and NUL, which databases refuse, become replacement characters."""
    return output.decode(errors="replace").replace("\0", "\ufffd")


def cut(text: str, characters: int) -> str:
    """A text without its middle, if it is longer than that many characters (without the note of the cut)."""
    if len(text) <= characters:
        return text
    head = characters // 2
    tail = characters - head
    return f"{text[:head]}\n[{len(text) - characters} characters are left out here]\n{text[len(text) - tail :]}"


def ending(result: RunResult, limits: ToolLimits) -> str:
    """How a command ended, if not with exit status 0; else an empty text."""
    match result.verdict:
        case Verdict.TIME_LIMIT:
            return f"stopped at the time limit of {limits.run_s:g} s"
        case Verdict.MEMORY_LIMIT:
            return "stopped at the memory limit"
        case Verdict.OUTPUT_LIMIT:
            return "stopped at the output limit"
    if result.signal is not None:
        return f"killed by signal {result.signal}"
    return f"exit status {result.exit_code}" if result.exit_code else ""


def with_notes(text: str, *notes: str) -> str:
    """A text and the notes that are not empty, each on a line in brackets."""
    lines = [text.removesuffix("\n")] if text else []
    return "\n".join([*lines, *(f"[{note}]" for note in notes if note)])


def result_of(result: RunResult, output: str, *, ok: bool, submission: bytes | None = None) -> ToolResult:
    """The result of a tool from that of its command."""
    return ToolResult(
        output=output,
        ok=ok,
        wall_ms=result.wall_ms,
        exit_code=result.exit_code,
        verdict=result.verdict,
        submission=submission,
    )


def failure(result: RunResult, limits: ToolLimits) -> ToolResult:
    """The result of a tool whose command has failed: what it wrote, and how it ended if it wrote nothing."""
    text = as_text(result.stderr).strip() or ending(result, limits)
    return result_of(result, cut(text, limits.characters), ok=False)
