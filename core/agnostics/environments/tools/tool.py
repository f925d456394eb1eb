"""The tool: its interface and its result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from agnostics.sandbox.session import Session
from agnostics.types.task import Frozen
from agnostics.types.verification import Verdict

_NAME_CHARACTERS = 60


class ArgumentError(Exception):
    """A call cannot be carried out as it is written; the message is a sentence for the model."""


class ToolLimits(Frozen):
    """The limits of a call; the time is that of the released Code World Model."""

    run_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    """Seconds of a command's own time."""
    characters: Annotated[int, Field(ge=100)] = 32_768
    """The length of an output; what is longer is cut in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a call has brought about. `output` is for the model; `ok` says whether the tool did what was asked for.

    The others are of the command in the sandbox: its time in milliseconds, its exit status (None where it was killed)
    and its verdict.
    """

    output: str
    ok: bool
    wall_ms: float
    exit_code: int | None
    verdict: Verdict
    submission: bytes | None = None
    """The file that was submitted, byte for byte."""


class ToolInterface(ABC):
    """What a model is told of a tool, and how its calls are read."""

    name: ClassVar[str]
    description: ClassVar[str]
    """For the model, without the form of a call."""
    parameters: ClassVar[Mapping[str, str]]
    """What each argument is, by its name; all are needed."""
    usage: ClassVar[str]
    """The content of a call in the text form, with the arguments in brackets."""

    @abstractmethod
    def arguments_of(self, content: str) -> Mapping[str, str]:
        """The arguments in the content of a call in the text form. Raises ArgumentError if there are none."""

    def arguments_in(self, given: Mapping[str, object]) -> Mapping[str, str]:
        """The arguments in the JSON object of a call. Raises ArgumentError if they are not those of `parameters`."""
        for name in self.parameters:
            if name not in given:
                raise ArgumentError(f"the argument '{name}' is missing")
        for name in given:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise ArgumentError(f"there is no argument {shown(name)}; the arguments are: {known}")
        texts = {name: value for name, value in given.items() if isinstance(value, str)}
        for name in given:
            if name not in texts:
                raise ArgumentError(f"the argument '{name}' is not a string")
        return texts

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as `tools=` of a chat template takes it: a function with a JSON schema."""
        properties = {name: {"type": "string", "description": text} for name, text in self.parameters.items()}
        parameters = {"type": "object", "properties": properties, "required": list(self.parameters)}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


class Tool(ToolInterface):
    """Something that a model can do in a session. It has no state of its own, and one object serves all sessions."""

    @abstractmethod
    def run(self, session: Session, arguments: Mapping[str, str], limits: ToolLimits) -> ToolResult:
        """Do it. What the model did wrong is in the result; raises SessionError if the sandbox fails."""


def shown(name: str) -> str:
    """A name that a model has written as a message quotes it, cut if it is long."""
    return repr(name if len(name) <= _NAME_CHARACTERS else name[:_NAME_CHARACTERS] + "…")
