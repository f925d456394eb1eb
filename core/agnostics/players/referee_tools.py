"""The operations of a session as tools: those of the referee, and two for the files of the workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from agnostics.environments.tools.observation import as_text, cut
from agnostics.environments.tools.tool import ArgumentError, Tool, ToolLimits, ToolResult
from agnostics.referee.referee import Referee
from agnostics.referee.replies import Reply
from agnostics.sandbox.session import Session, SessionError
from agnostics.types.errors import AgnosticsError
from agnostics.types.verification import Verdict


class _BareTool(Tool):
    """A tool of the bare player. Arguments that it does not have, which its schema does not forbid, are ignored."""

    def arguments_in(self, given: Mapping[str, object]) -> Mapping[str, str]:
        return super().arguments_in({name: value for name, value in given.items() if name in self.parameters})


class _SessionTool(_BareTool):
    """A tool of one session, with its referee."""

    parameters: ClassVar[Mapping[str, str]] = {}
    usage = ""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee

    def arguments_of(self, content: str) -> Mapping[str, str]:
        if content.strip():
            raise ArgumentError("it takes no arguments")
        return {}


class Fetch(_SessionTool):
    """The open problem, or the next one."""

    name = "fetch"
    description = "Shows the open problem, or opens the next one."

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:  # noqa: ARG002
        return _result(self._referee.fetch(), limits)


class Run(_SessionTool):
    """A run of a program in the workspace on an input."""

    name = "run"
    description = "Runs a program file of the workspace on an input of your choice, and shows what it prints."
    parameters: ClassVar[Mapping[str, str]] = {
        "file": "The path of the program in the workspace.",
        "input": "The text that the program reads from stdin; it may be empty.",
    }
    usage = "[file]\n[input]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        file, _, text = content.partition("\n")
        return {"file": _needed(file, "file"), "input": text}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        def operate(program: str) -> Reply:
            return self._referee.run(program, arguments["input"])

        return _with_program(session, arguments["file"], operate, limits)


class SubmitProgram(_SessionTool):
    """A submission of a program in the workspace."""

    name = "submit"
    description = "Submits a program file of the workspace to the hidden tests of the open problem."
    parameters: ClassVar[Mapping[str, str]] = {
        "problem": "The id of the problem, as fetch shows it.",
        "file": "The path of the program in the workspace.",
    }
    usage = "[problem]\n[file]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        problem, _, file = content.strip().partition("\n")
        return {"problem": _needed(problem, "problem"), "file": _needed(file, "file")}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        def operate(program: str) -> Reply:
            return self._referee.submit(arguments["problem"], program)

        return _with_program(session, arguments["file"], operate, limits)


class Status(_SessionTool):
    """The progress so far."""

    name = "status"
    description = "Shows which problems are solved, and what is left of the open one."

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:  # noqa: ARG002
        return _result(self._referee.status(), limits)


class Skip(_SessionTool):
    """The end of a problem that is not solved."""

    name = "skip"
    description = "Leaves the open problem unsolved, where the rules allow it."

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:  # noqa: ARG002
        return _result(self._referee.skip(), limits)


class WriteFile(_BareTool):
    """A file of the workspace, new or in place of another one."""

    name = "write_file"
    description = "Writes a file of the workspace, with the folders that it needs; one that exists is replaced."
    parameters: ClassVar[Mapping[str, str]] = {"path": "The path in the workspace.", "content": "The content."}
    usage = "[path]\n[content]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        path, _, text = content.partition("\n")
        return {"path": _needed(path, "path"), "content": text}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        def write() -> str:
            session.put({arguments["path"]: arguments["content"].encode()})
            return f"wrote {len(arguments['content'].encode())} bytes to {arguments['path']}"

        return _of_files(write, limits)


class ReadFile(_BareTool):
    """The content of a file of the workspace."""

    name = "read_file"
    description = "Shows a file of the workspace."
    parameters: ClassVar[Mapping[str, str]] = {"path": "The path in the workspace."}
    usage = "[path]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        return {"path": _needed(content, "path")}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        return _of_files(lambda: as_text(session.get(arguments["path"])), limits)


def session_tools(referee: Referee) -> tuple[Tool, ...]:
    """The tools of a session; `skip` is not among them if its protocol never allows it."""
    skip = () if referee.state.protocol.skip == "never" else (Skip(referee),)
    return (Fetch(referee), Run(referee), SubmitProgram(referee), Status(referee), *skip, WriteFile(), ReadFile())


def _needed(text: str, name: str) -> str:
    if not text.strip():
        raise ArgumentError(f"the line with the {name} is missing")
    return text.strip()


def _with_program(session: Session, path: str, operate: Callable[[str], Reply], limits: ToolLimits) -> ToolResult:
    """The result of an operation on the program in a file."""
    try:
        program = session.get(path)
    except SessionError:
        raise
    except AgnosticsError as error:
        return _text_result(str(error), limits, ok=False)
    return _result(operate(program.decode("utf-8", "surrogateescape")), limits)


def _of_files(operate: Callable[[], str], limits: ToolLimits) -> ToolResult:
    try:
        return _text_result(operate(), limits, ok=True)
    except SessionError:
        raise
    except AgnosticsError as error:
        return _text_result(str(error), limits, ok=False)


def _result(reply: Reply, limits: ToolLimits) -> ToolResult:
    return _text_result(reply.text, limits, ok=reply.ok)


def _text_result(text: str, limits: ToolLimits, *, ok: bool) -> ToolResult:
    output = cut(text, limits.characters)
    return ToolResult(output=output, ok=ok, wall_ms=0.0, exit_code=None, verdict=Verdict.ACCEPTED)
