"""The tool `bash`: a command in the shell of the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics.environments.tools.observation import as_text, cut, ending, result_of, with_notes
from agnostics.environments.tools.shell import run_in_shell
from agnostics.environments.tools.tool import ArgumentError, Tool, ToolLimits, ToolResult
from agnostics.sandbox.session import Session
from agnostics.types.verification import Verdict

_FRESH = "the state of the shell was lost; this is a new shell"


class Bash(Tool):
    """Runs commands for bash, in the folder and with the variables, functions and options that earlier ones have left.

    `set -e` ends its own command alone. A command that is killed leaves the files that it has written, and the shell as
    it was before.
    """

    name = "bash"
    description = (
        "Executes bash commands in the current session: the working directory, variables, functions and shell options "
        "are kept between calls, but processes in the background end with the call. The commands must not be "
        "interactive; they can be on one or on several lines."
    )
    parameters: ClassVar[Mapping[str, str]] = {"command": "The bash command or commands."}
    usage = "[command(s)]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        if not content.strip():
            raise ArgumentError("the command is empty")
        return {"command": content}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        result, is_fresh = run_in_shell(session, arguments["command"], limits.run_s)
        text = cut(as_text(result.stdout), limits.characters)
        output = with_notes(text, _FRESH if is_fresh else "", ending(result, limits))
        return result_of(result, output, ok=result.verdict is Verdict.ACCEPTED)
