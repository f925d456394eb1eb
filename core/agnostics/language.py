"""Languages: how to prompt for, install, compile and run programs of one language; plain data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from agnostics.errors import UsageError, unknown
from agnostics.task import Frozen, LimitOverrides, Limits, Task

_SHELL_SYNTAX = frozenset("|&;<>()$`*?[]#~{}\n")


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class _YamlModel(Frozen):
    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=_dashed, populate_by_name=True)


class Container(_YamlModel):
    """The image that the language is installed into: `base-image`, and the distribution family it is of."""

    base_image: str = "debian:trixie"
    type: Literal["debian"] = "debian"


class Install(_YamlModel):
    """How the toolchain gets into the image: Dockerfile lines, where one shell command is not enough."""

    container_instructions: str


class Language(_YamlModel):
    """A programming language, as a pack or a YAML file in the format of the paper's Appendix C gives it.

    `install` is a shell command for the image build; `compile` and `execute` are command lines run in the folder that
    holds the program as `filename`. They are split into words and run without a shell, unless they use shell syntax.
    Subclass it to override a method; the sandbox calls `image_instructions`, `support_files`, `compile_argv` and
    `execute_argv`, the trainer `prompt_for`.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_+.-]*$")]
    prompt: str
    filename: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$")]
    execute: Annotated[str, Field(min_length=1)]
    compile: str | None = None
    install: str | Install | None = None
    container: Container = Container()
    tags: tuple[str, ...] = ()
    """Further names by which models tag code blocks of this language, beside its name and the file's suffix."""
    limits: LimitOverrides = LimitOverrides()
    startup_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """What a program takes before its first line runs: on top of the limit of each test, which is for the task."""
    environment: dict[str, str] = Field(default={})
    """Environment variables for the compiler and the program, beside PATH, HOME and TMPDIR."""
    reference: dict[str, str] = Field(default={}, repr=False)
    """Right programs by kind of task; `@name@` stands for the task's parameter `name`."""

    @field_validator("filename")
    @classmethod
    def _filename_stays_in_its_folder(cls, value: str) -> str:
        if value in {".", ".."}:
            raise ValueError("must name a file")
        return value

    @classmethod
    def from_yaml(cls, path: Path, **fields: Any) -> Self:
        """The language in the YAML file `path`, named after the file unless `name` is given.

        Raises UsageError, with the file, the line and the key, where the file does not describe a language.
        """
        try:
            text = path.read_text(encoding="utf-8")
            data = yaml.safe_load(text)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise UsageError(f"{path}: not a readable YAML file: {' '.join(str(error).split())}") from error
        if not isinstance(data, dict):
            raise UsageError(f"{path}: expected a mapping with the keys prompt, filename and execute")
        try:
            return cls.model_validate({"name": path.stem.lower(), **data, **fields})
        except ValidationError as error:
            first = error.errors()[0]
            line = _line_of(first["loc"], text)
            raise UsageError(f"{path}{f':{line}' if line else ''}: {_explain(first, cls)}") from error

    @classmethod
    def from_folder(cls, folder: Path, **fields: Any) -> Self:
        """The language of a pack: `language.yaml`, and beside it right programs as `reference/KIND.SUFFIX`."""
        programs = sorted((folder / "reference").glob("*.*"))
        reference = {path.stem: path.read_text(encoding="utf-8") for path in programs}
        return cls.from_yaml(folder / "language.yaml", reference=reference, **fields)

    @property
    def code_tags(self) -> frozenset[str]:
        """The names of code blocks that hold a program of this language, in lower case."""
        suffix = self.filename.rpartition(".")[2]
        return frozenset(tag.lower() for tag in (self.name, suffix, *self.tags))

    def prompt_for(self, task: Task) -> str:
        """The message that asks a model to solve `task`: the language's prompt, then the statement (section 3.2)."""
        return f"{self.prompt.strip()}\n\n{task.statement.strip()}"

    def limits_for(self, task: Task) -> Limits:
        """The limits in force: the task's, then the language's, then the defaults; with time to start."""
        return self.with_startup(task.limits.over(self.limits.over(Limits())))

    def with_startup(self, limits: Limits) -> Limits:
        """`limits` with the time that a program of this language takes to start."""
        return limits.model_copy(update={"run_s": limits.run_s + self.startup_s})

    def compile_argv(self) -> list[str] | None:
        """The compiler's command line in words, or None where nothing is compiled."""
        return _words(self.compile) if self.compile else None

    def execute_argv(self) -> list[str]:
        """The program's command line in words."""
        return _words(self.execute)

    def image_instructions(self) -> str:
        """The Dockerfile lines after `FROM` that put the toolchain into the image."""
        if self.install is None:
            return ""
        if isinstance(self.install, Install):
            return self.install.container_instructions
        return f"RUN apt-get update && DEBIAN_FRONTEND=noninteractive {self.install}"

    def support_files(self) -> dict[str, bytes]:
        """What a pack brings into the folder of every program, by name: a module, say, or an interpreter of its own.

        They are read-only and executable, and count towards the 256 MiB of a request: keep them small.
        """
        return {}

    def reference_for(self, task: Task) -> str | None:
        """A right program for `task`, or None where the pack has none for its kind."""
        template = self.reference.get(task.kind) if task.kind else None
        if template is None:
            return None
        for name, value in task.parameters.items():
            template = template.replace(f"@{name}@", str(value))
        return template


def _words(command: str) -> list[str]:
    """A configured command line in words; one that uses shell syntax is given to `sh`, as its author means it."""
    if _SHELL_SYNTAX.intersection(command):
        return ["/bin/sh", "-c", command]
    return shlex.split(command)


def _explain(complaint: ErrorDetails, model: type[Language]) -> str:
    """A complaint in words of the YAML file."""
    key = ".".join(str(part) for part in complaint["loc"])
    if complaint["type"] == "missing":
        return f"the key {key!r} is missing"
    if complaint["type"] == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {"container": Container, "limits": LimitOverrides, "install": Install}
        fields = parts.get(key.partition(".")[0], model).model_fields if "." in key else model.model_fields
        return str(unknown("key", key.rpartition(".")[2], (_dashed(name) for name in fields)))
    return f"{key}: {complaint['msg']}"


def _line_of(place: tuple[int | str, ...], text: str) -> int | None:
    """The line of the innermost of the keys `place` that stands in the YAML `text`, counted from 1."""
    node, line = yaml.compose(text), None
    for part in place:
        entries = node.value if isinstance(node, yaml.MappingNode) else ()
        found = next(((key, value) for key, value in entries if key.value in {part, _dashed(str(part))}), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
