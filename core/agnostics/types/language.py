"""Languages: the prompt, installation, compiler and interpreter of one programming language, as plain data."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from agnostics.types.code_extraction import extract_program, is_blank
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.types.task import FILE_NAME_PATTERN, Frozen, LimitOverrides, Limits, PromptFormat, Task
from agnostics.types.yaml_file import read_yaml

NAME_PATTERN = r"^[a-z0-9][a-z0-9_+.-]*$"
"""The names that a language, or anything else that a plugin registers, may have."""
_SHELL_SYNTAX = frozenset("|&;<>()$`*?[]#~{}\n")


def _with_words(command: str | None) -> str | None:
    if command and not _words(command):
        raise ValueError("must name a command")
    return command


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class _YamlModel(Frozen):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=_dashed, populate_by_name=True)


class Install(_YamlModel):
    """Dockerfile lines that install the toolchain, if one shell command is not enough."""

    container_instructions: str


class Fallback(_YamlModel):
    """A base image made of Debian packages, and install command, used if no registry provides the language's own."""

    base_image: Annotated[str, Field(pattern=r"^debian:[a-z]+$")]
    install: str | Install | None = None


class Container(_YamlModel):
    """The image that the language is installed into: `base-image`, its distribution family (`type`), and a fallback."""

    base_image: str = "debian:trixie"
    type: Literal["debian"] = "debian"
    fallback: Fallback | None = None


class ForkServer(_YamlModel):
    """An interpreter that is started once in each slot, up to its first use of a program, and forked for each test."""

    execute: Annotated[str, Field(min_length=1)] | None = None
    """The command line that starts it, if not the language's `execute`."""
    files: dict[Annotated[str, Field(pattern=FILE_NAME_PATTERN)], str] = Field(default={}, repr=False)
    """Files that stand beside the program while it starts, by name."""


class Tracer(_YamlModel):
    """The way to run a program so that it writes its execution trace to the file named by $AGN_TRACE."""

    execute: Annotated[str, Field(min_length=1)]
    """The command line that runs the program and traces it."""
    compile: str | None = None
    """The command line of the compiler for programs that are traced, if not the language's `compile`."""
    build: str | None = None
    """A command line that makes the tracer, once, beside `files`; what it makes stands beside each program."""
    install: str | None = None
    """A shell command that installs what the language's own `install` does not."""
    files: dict[Annotated[str, Field(pattern=FILE_NAME_PATTERN)], str] = Field(default={}, repr=False)
    """Files that stand beside the program, by name."""

    @field_validator("execute", "compile", "build")
    @classmethod
    def _command_line_has_words(cls, value: str | None) -> str | None:
        return _with_words(value)


class Language(_YamlModel):
    """A programming language, from a pack or from a YAML file in the format of the paper's Appendix C.

    `install` is a shell command for the image build; `compile` and `execute` are command lines run in the folder that
    holds the program as `filename`. They are split into words and run without a shell, unless they use shell syntax.
    Subclass it to override a method; the sandbox calls `is_empty`, `image_instructions`, `support_files`,
    `compile_argv` and `execute_argv`, the trainer `prompt_for` and `program_for`, which asks `program_in`.
    """

    name: Annotated[str, Field(pattern=NAME_PATTERN)]
    prompt: str
    filename: Annotated[str, Field(pattern=FILE_NAME_PATTERN)]
    execute: Annotated[str, Field(min_length=1)]
    compile: str | None = None
    install: str | Install | None = None
    version: str | None = None
    """A command that prints the toolchain's version; `TOOL --version` of the first tool if not given."""
    container: Container = Container()
    tags: tuple[str, ...] = ()
    """Further names by which models tag code blocks of this language, beside its name and the file's suffix."""
    limits: LimitOverrides = LimitOverrides()
    startup_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Seconds that a program takes to start, added to the time limit of each test."""
    fork_server: ForkServer | None = None
    """Given, also as True, if the interpreter is to be started once in each slot and forked for each test."""
    trace: Tracer | None = None
    """The way to trace a program, if there is one."""
    environment: dict[str, str] = Field(default={})
    """Environment variables for the compiler and the program, beside PATH, HOME and TMPDIR."""
    reference: dict[str, str] = Field(default={}, repr=False)
    """Right programs by family of tasks; `@name@` stands for the task's parameter `name`."""
    contract: dict[str, str] = Field(default={}, repr=False)
    """The programs of the contract suite by name; docs/languages.md describes each."""
    library: dict[Annotated[str, Field(pattern=FILE_NAME_PATTERN)], str] = Field(default={}, repr=False)
    """Parts for generators of programs, and notes, by file name: what some protocols of agent sessions give players.

    A library has a `README.md`, which players are told to read first.
    """

    @field_validator("filename")
    @classmethod
    def _filename_stays_in_its_folder(cls, value: str) -> str:
        if value in {".", ".."}:
            raise ValueError("must name a file")
        return value

    @field_validator("fork_server", mode="before")
    @classmethod
    def _fork_server_may_be_a_boolean(cls, value: object) -> object:
        return (ForkServer() if value else None) if isinstance(value, bool) else value

    @field_validator("compile", "execute")
    @classmethod
    def _command_line_has_words(cls, value: str | None) -> str | None:
        return _with_words(value)

    @model_validator(mode="after")
    def _fork_server_runs_the_program_itself(self) -> Self:
        if self.fork_server and self.compile:
            raise ValueError("fork-server is for interpreters that read the program: leave out compile")
        return self

    @field_validator("library")
    @classmethod
    def _library_says_what_it_is(cls, value: dict[str, str]) -> dict[str, str]:
        if value and "README.md" not in value:
            raise ValueError("must have a README.md")
        return value

    @classmethod
    def from_yaml(cls, path: Path, **fields: Any) -> Self:
        """The language in the YAML file `path`, named after the file unless `name` is given.

        Raises UsageError, with the file, the line and the key, if the file does not describe a language.
        """
        text, data = read_yaml(path)
        if not isinstance(data, dict):
            raise UsageError(f"{path}: expected a mapping with the keys prompt, filename and execute")
        try:
            return cls.model_validate({"name": path.stem.lower(), **data, **fields})
        except ValidationError as error:
            first = min(error.errors(), key=lambda complaint: complaint["type"] != "extra_forbidden")
            line = _line_of(first["loc"], text)
            raise UsageError(f"{path}{f':{line}' if line else ''}: {_explain(first, cls)}") from error

    @classmethod
    def from_folder(cls, folder: Path, **fields: Any) -> Self:
        """The language of a pack: `language.yaml`, and beside it the programs of the contract suite as
        `contract/NAME.SUFFIX`, right programs for tasks as `reference/KIND.SUFFIX`, the tracer's files as `trace/NAME`,
        and its library as `library/FILE`.
        """
        programs = {part: _programs(folder / part) for part in ("contract", "reference")}
        library = {path.name: path.read_text("utf-8") for path in sorted((folder / "library").glob("*.*"))}
        language = cls.from_yaml(folder / "language.yaml", **programs, library=library, **fields)
        return language._with_trace_files(folder / "trace") if language.trace else language

    @property
    def code_tags(self) -> frozenset[str]:
        """The names of code blocks that hold a program of this language, in lower case."""
        suffix = self.filename.rpartition(".")[2]
        return frozenset(tag.lower() for tag in (self.name, suffix, *self.tags))

    def is_empty(self, program: str) -> bool:
        """Whether `program` is blank. Languages whose programs consist of white space override it."""
        return is_blank(program)

    def program_in(self, completion: str) -> str | None:
        """The program in a completion, or None; see `extract_program`."""
        return extract_program(completion, self.code_tags, self.is_empty)

    def program_for(self, task: Task, completion: str) -> str | None:
        """The program of a completion for `task`: its code block, or as the task's prompt format makes it.

        Raises UsageError if the prompt format is for another language.
        """
        prompt_format = self._prompt_format_of(task)
        if prompt_format and prompt_format.stop is not None:
            return prompt_format.continued(task.statement, completion)
        program = self.program_in(completion)
        return None if program is None else self.with_tests(task, program)

    def with_tests(self, task: Task, program: str) -> str:
        """A program for `task` with the tests of the task's prompt format, if it has one.

        Raises UsageError if the prompt format is for another language.
        """
        prompt_format = self._prompt_format_of(task)
        return prompt_format.enclosed(program) if prompt_format else program

    def prompt_for(self, task: Task) -> str:
        """The prompt for `task`: the language's prompt, then the statement (section 3.2).

        With a prompt format it is the statement alone. Raises UsageError if the format is for another language.
        """
        if self._prompt_format_of(task):
            return task.statement
        return f"{self.prompt.strip()}\n\n{task.statement.strip()}"

    def _prompt_format_of(self, task: Task) -> PromptFormat | None:
        prompt_format = task.prompt_format
        if prompt_format and prompt_format.language not in self.code_tags:
            raise UsageError(
                f"task {task.id!r} has its tests in {prompt_format.language!r}, which is no name or tag of "
                f"{self.name!r}; name another with --language"
            )
        return prompt_format

    def limits_for(self, task: Task) -> Limits:
        """The limits in force: the task's, then the language's, then the defaults; with the startup time."""
        return self.with_startup(_in_force(task.limits, self.limits))

    def with_startup(self, limits: Limits) -> Limits:
        """`limits` with the startup time of this language added."""
        return limits.model_copy(update={"run_s": limits.run_s + self.startup_s}) if self.startup_s else limits

    def compile_argv(self) -> list[str] | None:
        """The compiler's command line in words, or None without a compiler."""
        return list(_words(self.compile)) if self.compile else None

    def execute_argv(self) -> list[str]:
        """The program's command line in words."""
        return list(_words(self.execute))

    def fork_server_argv(self) -> list[str]:
        """The command line in words of the interpreter that is forked; empty if none is."""
        if not self.fork_server:
            return []
        return list(_words(self.fork_server.execute)) if self.fork_server.execute else self.execute_argv()

    def trace_build_argv(self) -> list[str] | None:
        """The command line in words that makes the tracer, or None if nothing has to be made."""
        return list(_words(self.trace.build)) if self.trace and self.trace.build else None

    def tools(self) -> list[str]:
        """The commands that have to be installed for a program to be compiled and run."""
        commands = [self.compile_argv(), self.execute_argv()]
        names = dict.fromkeys(argv[0] for argv in commands if argv)
        return [name for name in names if not name.startswith("./")]

    def version_command(self) -> str | None:
        """The command that prints the toolchain's version, or None if no tool is known."""
        return self.version or next((f"{tool} --version" for tool in self.tools()), None)

    def image_instructions(self, base: str | None = None) -> str:
        """The Dockerfile lines after `FROM base` that put the toolchain into the image; `base` is the language's own
        base image if not given.
        """
        fallback = self.container.fallback
        install = fallback.install if fallback and base == fallback.base_image else self.install
        if install is None:
            return ""
        return install.container_instructions if isinstance(install, Install) else _run_line(install)

    def support_files(self) -> dict[str, bytes]:
        """Files that are placed beside every program, by name: a module, say, or an interpreter.

        They are read-only and executable, and count towards the 256 MiB of a request: keep them small.
        """
        return {}

    def traced(self) -> Self:
        """This language with its programs traced: its commands and its installation are those of `trace`.

        Raises UsageError if it cannot be traced.
        """
        trace = self.trace
        if trace is None:
            raise UsageError(f"{self.name} has no tracer: its language.yaml has no key `trace` (docs/traces.md)")
        changes: dict[str, Any] = {"execute": trace.execute, "fork_server": None}
        changes |= {"compile": trace.compile or self.compile, "install": _both(self.install, trace.install)}
        if fallback := self.container.fallback:
            fallback = fallback.model_copy(update={"install": _both(fallback.install, trace.install)})
            changes["container"] = self.container.model_copy(update={"fallback": fallback})
        return self.model_copy(update=changes)

    def _with_trace_files(self, folder: Path) -> Self:
        assert self.trace is not None
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.*"))}
        trace = self.trace.model_copy(update={"files": {**files, **self.trace.files}})
        return self.model_copy(update={"trace": trace})

    def reference_for(self, task: Task) -> str | None:
        """A right program for `task`, or None where the pack has none for its family."""
        template = self.reference.get(task.family) if task.family else None
        if template is None:
            return None
        for name, value in task.parameters.items():
            template = template.replace(f"@{name}@", str(value))
        return template


def _programs(folder: Path) -> dict[str, str]:
    """The programs in `folder` by the first part of their names."""
    return {path.stem: path.read_bytes().decode() for path in sorted(folder.glob("*.*"))}


def _run_line(install: str) -> str:
    return f"RUN apt-get update && DEBIAN_FRONTEND=noninteractive {install}"


def _both(install: str | Install | None, more: str | None) -> str | Install | None:
    if install is None or more is None:
        return install or more
    if isinstance(install, Install):
        return Install(container_instructions=f"{install.container_instructions.rstrip()}\n{_run_line(more)}")
    return f"{install} && {more}"


@lru_cache
def _in_force(task: LimitOverrides, language: LimitOverrides) -> Limits:
    return task.over(language.over(Limits()))


@lru_cache
def _words(command: str) -> tuple[str, ...]:
    """A configured command line in words; `sh` runs one that uses shell syntax."""
    if _SHELL_SYNTAX.intersection(command):
        return ("/bin/sh", "-c", command)
    return tuple(shlex.split(command))


def _explain(complaint: ErrorDetails, model: type[Language]) -> str:
    """A validation error in terms of the YAML file."""
    key = ".".join(str(part) for part in complaint["loc"])
    if complaint["type"] == "missing":
        return f"the key {key!r} is missing"
    if complaint["type"] == "extra_forbidden":
        fields = _model_of(complaint["loc"][:-1], model).model_fields
        return _unknown_key(key.rpartition(".")[2], [_dashed(name) for name in fields])
    if complaint["type"] == "invalid_key":
        return "a key must be a text"
    return f"{key}: {complaint['msg'].removeprefix('Value error, ')}"


def _unknown_key(key: str, known: Sequence[str]) -> str:
    """The complaint about an unknown key. It is quoted only if it resembles a known one: the file may hold secrets."""
    if get_close_matches(key, known, n=1, cutoff=0.5):
        return str(unknown_name_error("key", key, known))
    return f"unknown key; known: {', '.join(sorted(known))}"


def _model_of(place: tuple[int | str, ...], model: type[Language]) -> type[BaseModel]:
    """The model of the mapping at `place` in the file."""
    parts: dict[str, type[BaseModel]] = {"container": Container, "limits": LimitOverrides, "install": Install}
    parts |= {"fallback": Fallback, "trace": Tracer}
    return next((parts[name] for name in reversed(place) if name in parts), model)


def _line_of(place: tuple[int | str, ...], text: str) -> int | None:
    """The line of the innermost of the keys `place` that stands in the YAML `text`, counted from 1."""
    node, line = yaml.compose(text), None
    for part in place:
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        entry = next(((key, value) for key, value in entries if key.value in {part, _dashed(str(part))}), None)
        if entry is None:
            break
        line, node = entry[0].start_mark.line + 1, entry[1]
    return line
