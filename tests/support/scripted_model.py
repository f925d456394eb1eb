"""A model behind an OpenAI-compatible endpoint that works through agent sessions as a coding agent's model does.

It has no state: what it does next follows from the last result in the conversation. It writes real programs in
Brainfuck, the first one of the first problem wrong.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROGRAMS: Mapping[str, str] = {
    "echo": ",[.,]",
    "twice": ",[..,]",
    "first": ",.",
    "next": ",[+.,]",
}
"""Correct programs, by problem."""
TASKS: list[dict[str, Any]] = [
    {"id": "echo", "statement": "Print the input as it is.", "tests": [["abc", "abc"], ["x", "x"]]},
    {"id": "twice", "statement": "Print each character twice.", "tests": [["ab", "aabb"], ["z", "zz"]]},
    {"id": "first", "statement": "Print the first character.", "tests": [["hello", "h"], ["z", "z"]]},
    {"id": "next", "statement": "Print the successor of each character.", "tests": [["abc", "bcd"], ["1", "2"]]},
]
WRONG = ",+."
"""The first program for the first problem."""
_SHELLS = ("bash", "Bash", "shell", "exec_command", "shell_command", "run_shell_command")
_MARK = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
"""What mini-swe-agent wants to see at the end."""
Body = dict[str, Any]


def task_lines() -> str:
    """The problems as lines of a JSON data set."""
    lines = [{**task, "tests": [{"input": i, "output": o} for i, o in task["tests"]]} for task in TASKS]
    return "".join(json.dumps(line) + "\n" for line in lines)


def next_command(result: str, *, is_first: bool) -> str | None:
    """The next command for the shell after `result`, what the last one printed; None if there is nothing to do."""
    if is_first or "Fetch the next problem" in result:
        return "session fetch"
    if found := re.search(r"Problem (\w+), \d of \d", result):
        problem = found[1]
        program = WRONG if problem == "echo" else PROGRAMS[problem]
        return _submission(problem, program)
    if found := re.search(rf"({'|'.join(PROGRAMS)}): \d of \d hidden tests passed.*Not solved", result, re.DOTALL):
        return _submission(found[1], PROGRAMS[found[1]])
    return None


def _submission(problem: str, program: str) -> str:
    name = f"{problem}.bf"
    return (
        f"printf %s {shlex.quote(program)} > {name} && session run {name} --input ab "
        f"&& session submit {problem} {name}; true"
    )


def work(body: Body) -> Body:
    """The message of a model that works with an agent's shell."""
    shell = next((tool["function"] for tool in body.get("tools", ()) if tool["function"]["name"] in _SHELLS), None)
    if shell is None:
        return edit(body)
    results = [text_of(message) for message in body["messages"] if message["role"] == "tool"]
    command = next_command(results[-1] if results else "", is_first=not results)
    wants_mark = any(_MARK in text_of(message) for message in body["messages"] if message["role"] != "tool")
    if command is None and wants_mark:
        command = f"echo {_MARK}"
    return {"content": "I am done."} if command is None else call_of(shell, command)


def edit(body: Body) -> Body:
    """The message of a model that edits a file, in the form that aider asks for; to anything else, a title."""
    last = text_of(body["messages"][-1])
    statements = {task["statement"]: task["id"] for task in TASKS}
    asked = [text_of(message) for message in body["messages"] if message["role"] == "user"]
    problem = next((name for statement, name in statements.items() if any(statement in text for text in asked)), None)
    file = re.search(r"Write into (\S+) a program", "".join(asked))
    if problem is None or file is None:
        return {"content": "A title"}
    program = WRONG if problem == "echo" and "Not solved" not in last else PROGRAMS[problem]
    return {"content": f"{file[1]}\n```\n{program}\n```\n"}


def stop_early(body: Body) -> Body:
    """As `work`, but each conversation ends after a problem."""
    solved = sum("Solved." in text_of(message) for message in body["messages"] if message["role"] == "tool")
    return {"content": "That is enough."} if solved else work(body)


def call_of(shell: Body, command: str) -> Body:
    """A call of an agent's shell, with the arguments that its schema needs."""
    properties = shell["parameters"]["properties"]
    name = "command" if "command" in properties else "cmd"
    value = command if properties[name].get("type") == "string" else ["bash", "-lc", command]
    others = {"description": "Works on the problem", "is_background": False}
    needed = {key: other for key, other in others.items() if key in properties}
    function = {"name": shell["name"], "arguments": json.dumps({name: value, **needed})}
    return {
        "content": "I go on.",
        "tool_calls": [{"id": f"call_{next_number()}", "type": "function", "function": function}],
    }


def text_of(message: Body) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


_numbers = iter(range(10**9))
_lock = threading.Lock()


def next_number() -> int:
    with _lock:
        return next(_numbers)


class ScriptedModel:
    """Serves `message` at `url`, which may have a `finish_reason` of its own, or raise ValueError to refuse a request.

    `tokens` are those of the prompt and of the reply, of each call.
    """

    def __init__(self, message: Callable[[Body], Body]) -> None:
        self.tokens = list[tuple[int, int]]()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                try:
                    status, answer = 200, json.dumps(model.answer(message(body), body)).encode()
                except ValueError as error:
                    status, answer = 400, json.dumps({"error": {"message": str(error)}}).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, message: Body, body: Body) -> Body:
        """The response, with counts that no two calls share."""
        counts = len(json.dumps(body["messages"])) // 4, 10 + len(self.tokens)
        self.tokens.append(counts)
        reason = message.pop("finish_reason", "tool_calls" if "tool_calls" in message else "stop")
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return {**head, "choices": [choice], "usage": usage}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@contextmanager
def serving(message: Callable[[Body], Body]) -> Iterator[ScriptedModel]:
    """A model that answers with `message`, until the end of the block."""
    model = ScriptedModel(message)
    try:
        yield model
    finally:
        model.close()
