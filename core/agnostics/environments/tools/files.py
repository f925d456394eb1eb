"""The tools `create`, `edit` and `submit`: files of the session, by their paths from the folder of the shell.

Paths are opened by commands in the sandbox, with the rights of any other command, so that a link leads nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from agnostics.environments.tools.observation import as_text, cut, failure, result_of
from agnostics.environments.tools.replacement import Replacement, blocks_of, numbered, replaced
from agnostics.environments.tools.shell import run_in_folder
from agnostics.environments.tools.tool import ArgumentError, Tool, ToolLimits, ToolResult
from agnostics.sandbox.protocol import RunResult
from agnostics.sandbox.session import Session
from agnostics.types.verification import Verdict
from agnostics.util.text import plural

_CREATE = """
if [[ -e $1 || -L $1 ]]; then printf '%s already exists\n' "$1" >&2; exit 1; fi
folder=$(dirname -- "$1")
if [[ ! -d $folder ]]; then printf 'there is no folder %s\n' "$folder" >&2; exit 1; fi
set -o noclobber
cat >"$1" || { rm -f -- "$1"; exit 1; }
"""
_READ = """
if [[ ! -e $1 ]]; then printf '%s does not exist\n' "$1" >&2; exit 1; fi
if [[ ! -f $1 ]]; then printf '%s is not a file\n' "$1" >&2; exit 1; fi
exec cat <"$1"
"""
_WRITE = 'exec cat >"$1"'
_MAX_BLOCKS = 100
"""Each of them may have the whole file searched and copied."""


class Create(Tool):
    """Writes a new file. As SWE-agent's, it leaves a file that exists as it is."""

    name = "create"
    description = (
        "Creates a new file at the path with the content. The path must not exist, but its parent directory must exist."
    )
    parameters: ClassVar[Mapping[str, str]] = {
        "path": "The path of the new file.",
        "content": "The content of the file.",
    }
    usage = "[path]\n[content]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        path, text = _path_and_rest(content)
        return {"path": path, "content": _with_line_feed(text)}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        path, content = arguments["path"], arguments["content"]
        result = run_in_folder(session, _CREATE, path, run_s=limits.run_s, stdin=content.encode())
        if not _is_done(result):
            return failure(result, limits)
        lines = plural(_with_line_feed(content).count("\n"), "line")
        return result_of(result, cut(f"Created {path} ({lines}).", limits.characters), ok=True)


class Edit(Tool):
    """Replaces lines of a file, all or none of the replacements; each must match whole lines that occur exactly once.

    The further ones of a call in the text form are the arguments `old_2`, `new_2` and so on.
    """

    name = "edit"
    description = (
        "Replaces lines of the file at the path. The lines to search for must match one or more consecutive lines of "
        "the file uniquely and exactly, including indentation and white space. The lines after the change are shown."
    )
    parameters: ClassVar[Mapping[str, str]] = {
        "path": "The path of the file.",
        "old": "The lines to search for, whole and with their indentation.",
        "new": "The lines in their place; empty to remove them.",
    }
    usage = "[path]\n<<<<<<< SEARCH\n[search_lines]\n=======\n[replacement_lines]\n>>>>>>> REPLACE"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        path, text = _path_and_rest(content)
        arguments = {"path": path}
        for number, block in enumerate(blocks_of(text), start=1):
            if number > _MAX_BLOCKS:
                raise ArgumentError(f"there are more than {_MAX_BLOCKS} blocks")
            arguments |= {_numbered("old", number): block.old, _numbered("new", number): block.new}
        if len(arguments) == 1:
            raise ArgumentError("there is no SEARCH/REPLACE block after the path")
        return arguments

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        path = arguments["path"]
        read = run_in_folder(session, _READ, path, run_s=limits.run_s)
        if not _is_done(read):
            return failure(read, limits)
        try:
            text, shown = _edited(read.stdout.decode(errors="surrogateescape"), arguments)
        except ArgumentError as error:
            return result_of(read, cut(f"{path} is unchanged: {error}", limits.characters), ok=False)
        data = text.encode(errors="surrogateescape")
        written = run_in_folder(session, _WRITE, path, run_s=limits.run_s, stdin=data)
        if not _is_done(written):  # half of it may be there
            run_in_folder(session, _WRITE, path, run_s=limits.run_s, stdin=read.stdout)
            return failure(written, limits)
        output = f"Edited {path}. The lines around each change, after it:\n{as_text(shown)}"
        return result_of(written, cut(output, limits.characters), ok=True)


class Submit(Tool):
    """Takes the content of a file as the submission."""

    name = "submit"
    description = "Submits the content of the file at the path as your solution."
    parameters: ClassVar[Mapping[str, str]] = {"path": "The path of the file."}
    usage = "[path]"

    def arguments_of(self, content: str) -> Mapping[str, str]:
        path, text = _path_and_rest(content)
        if text.strip():
            raise ArgumentError("it takes one line, the path of a file")
        return {"path": path}

    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        result = run_in_folder(session, _READ, arguments["path"], run_s=limits.run_s)
        if not _is_done(result):
            return failure(result, limits)
        output = cut(as_text(result.stdout), limits.characters)
        return result_of(result, output, ok=True, submission=result.stdout)


def _edited(text: str, arguments: Mapping[str, str]) -> tuple[str, bytes]:
    """The text with the replacements of a call to `edit`, and the lines around each. Raises ArgumentError."""
    parts, number = list[str](), 1
    while (old := arguments.get(_numbered("old", number))) is not None:
        if not old:
            raise ArgumentError("the lines to search for are empty")
        replacement = Replacement(_with_line_feed(old), _with_line_feed(arguments[_numbered("new", number)]))
        text, first = replaced(text, replacement)
        parts.append(numbered(text, first, replacement.new.count("\n")))
        number += 1
    return text, "\n\n".join(parts).encode(errors="surrogateescape")


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}_{number}"


def _path_and_rest(content: str) -> tuple[str, str]:
    path, _, text = content.partition("\n")
    if not path.strip():
        raise ArgumentError("the first line must be a path")
    return path.strip(), text


def _with_line_feed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _is_done(result: RunResult) -> bool:
    return result.verdict is Verdict.ACCEPTED and not result.truncated
