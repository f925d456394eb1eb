"""An OpenAI-compatible server in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = str | dict[str, Any]
"""The text of an answer, or the message with it: one that calls tools."""


class ChatServer:
    """An OpenAI-compatible server whose answers are what `reply` makes of a question; it may raise to refuse one.

    A question is the last message of a conversation. `asked` are the questions, `conversations` all messages of each,
    `together` is how many were under way at once at most.
    """

    def __init__(self, reply: Callable[[str], Reply]) -> None:
        self.reply, self.asked, self.together = reply, list[str](), 0
        self.conversations = list[list[dict[str, str]]]()
        self._now, self._lock, server = 0, threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.conversations.append(body["messages"])
                status, answer = server.answer(body["messages"][-1]["content"])
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):
                    self.wfile.write(answer)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, question: str) -> tuple[int, bytes]:
        with self._lock:
            self.asked.append(question)
            self._now += 1
            self.together = max(self.together, self._now)
        try:
            answered = self.reply(question)
        except Exception as error:
            return 400, json.dumps({"error": {"message": str(error)}}).encode()
        finally:
            with self._lock:
                self._now -= 1
        message = {"content": answered} if isinstance(answered, str) else answered
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted"}
        return 200, json.dumps({**head, "choices": [choice], "usage": usage}).encode()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
