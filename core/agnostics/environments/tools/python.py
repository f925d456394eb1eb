"""The tool `python`: a program for Python, run by the interpreter of the session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics.environments.tools.observation import as_text, cut, ending, result_of
from agnostics.environments.tools.shell import run_in_folder
from agnostics.environments.tools.tool import ArgumentError, Tool, ToolLimits, ToolResult
from agnostics.sandbox.session import Session
from agnostics.types.verification import Verdict


class Python(Tool):
    """Runs a program for `python3`, in the folder of the shell. Nothing but files is kept between programs.

    The output has the form of section 17 of the Code World Model's paper.
    """

    name = "python"
    description = (
        "Executes a Python program and returns what it prints. Each program runs in an interpreter of its own; only "
        "files are kept between calls."
    )
    parameters: ClassVar[Mapping[str, str]] = {"code": "The Python program."}
    usage = "[code]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        if not content.strip():
            raise ArgumentError("the program is empty")
        return {"code": content}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        code = arguments["code"].encode()
        result = run_in_folder(session, "exec python3 -", run_s=limits.run_s, stdin=code)
        how = ending(result, limits)
        lines = [f"error: {how}" if how else "completed."]
        for name, output in {"stdout": result.stdout, "stderr": result.stderr}.items():
            if output:
                lines.append(f"[{name}]{cut(as_text(output), limits.characters // 2)}[/{name}]")
        return result_of(result, "\n".join(lines), ok=result.verdict is Verdict.ACCEPTED)
