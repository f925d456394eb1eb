"""An agent of the `verifiers` framework with a bash in one of our sessions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import verifiers.v1 as vf
from openai import AsyncOpenAI, OpenAIError
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.runtimes import SubprocessRuntimeInfo

from agnostics.integrations.session_files import FileTooLarge, read_file, write_file
from agnostics.sandbox.session import TRANSFER_BYTES, Session, SessionError
from agnostics.types.verification import Verdict

OUTPUT_CHARACTERS = 10_000
"""The most that a model is shown of each output of a command."""
BASH: Any = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": (
            "Run a command with bash in a sandbox without network. Files stay for the next command, processes do not."
        ),
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "The command."}},
            "required": ["command"],
        },
    },
}


class SessionRuntime(vf.Runtime):
    """A session as a runtime, lent to a run by whoever opened the session.

    In traces it is a `subprocess` with the sandbox's name as its id: the framework knows no runtimes but its own.
    """

    def __init__(self, session: Session, sandbox: str) -> None:
        super().__init__()
        self.config = vf.SubprocessConfig()
        self.info = SubprocessRuntimeInfo(id=f"agnostics/{sandbox}")
        self._session = session

    async def start(self) -> None:
        """Nothing: the session is open."""

    async def run(self, argv: list[str], env: dict[str, str]) -> vf.ProgramResult:
        """Run a command in the session's workspace; one that is stopped at a limit says so in its error output."""
        try:
            result = await asyncio.to_thread(self._session.exec, argv, environment=self.process_env(env))
        except SessionError as error:
            raise vf.SandboxError(str(error)) from error
        stdout, stderr = (text.decode(errors="replace") for text in (result.stdout, result.stderr))
        if result.verdict not in {Verdict.ACCEPTED, Verdict.RUNTIME_ERROR}:
            stderr += f"\n[stopped: {result.verdict}]"
        status = result.exit_code if result.exit_code is not None else 128 + (result.signal or 9)
        return vf.ProgramResult(exit_code=status, stdout=stdout, stderr=stderr)

    async def _read(self, path: str, max_bytes: int | None = None) -> bytes:
        limit = TRANSFER_BYTES if max_bytes is None else max_bytes
        try:
            return await asyncio.to_thread(read_file, self._session, path, limit)
        except (FileTooLarge, OSError, SessionError) as error:
            raise vf.SandboxError(f"cannot read {path!r}: {error}") from error

    async def write(self, path: str, data: bytes) -> None:
        """Write a file, by its path in the workspace or from the root."""
        try:
            await asyncio.to_thread(write_file, self._session, path, data)
        except (OSError, SessionError) as error:
            raise vf.SandboxError(f"cannot write {path!r}: {error}") from error


class SessionHarness(vf.Harness[vf.HarnessConfig]):
    """A conversation in this process: the model may call bash, in the session, until it answers without a call."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    """What a model asks for runs in a session and nowhere else, never in the framework's subprocess on this machine."""
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Hold the conversation. Raises TypeError if the runtime is not a session."""
        if not isinstance(runtime, SessionRuntime):
            raise TypeError("this harness runs commands in sessions of agnostics alone; use its environment")
        messages = self._first_messages(data)
        try:
            async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
                while calls := await _next_calls(client, ctx.model, messages):
                    messages += [await _result_of(call, runtime) for call in calls]
        except OpenAIError as error:  # the framework knows the cause, a limit of turns among others
            return vf.ProgramResult(exit_code=1, stdout="", stderr=str(error))
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    def _first_messages(self, data: vf.TaskData) -> list[dict[str, Any]]:
        system, prompt = self.resolve_prompt(data)
        before = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            return [*before, {"role": "user", "content": prompt}]
        return [*before, *map(message_to_wire, prompt or [])]


async def _next_calls(client: AsyncOpenAI, model: str, messages: list[Any]) -> list[Any]:
    """The calls in the model's next message, which is appended to `messages`."""
    completion = await client.chat.completions.create(model=model, messages=messages, tools=[BASH])
    message = completion.choices[0].message
    messages.append(message.model_dump(exclude_none=True))
    return message.tool_calls or []


async def _result_of(call: Any, runtime: SessionRuntime) -> dict[str, Any]:
    """The message with the output of a call; a call that makes no sense is answered with what is wrong."""
    command = _command_of(call)
    if command is None:
        content = 'error: the only tool is bash, with arguments like {"command": "ls"}'
    else:
        result = await runtime.run(["bash", "-c", command], {})
        parts = (_shortened(result.stdout), _shortened(result.stderr))
        status = f"[exit status {result.exit_code}]" if result.exit_code else ""
        content = "\n".join(part for part in (*parts, status) if part)
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _command_of(call: Any) -> str | None:
    """The command in a call, which a model wrote, or None if there is none."""
    try:
        command = json.loads(call.function.arguments)["command"]
        command.encode()  # which half of a surrogate pair cannot be
    except (AttributeError, ValueError, TypeError, LookupError, RecursionError):
        return None
    return command if call.function.name == "bash" and "\0" not in command else None


def _shortened(text: str) -> str:
    left_out = len(text) - OUTPUT_CHARACTERS
    if left_out <= 0:
        return text.rstrip("\n")
    half = OUTPUT_CHARACTERS // 2
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"
