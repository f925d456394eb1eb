"""Answers of models, kept by what was asked: what was paid for once is not asked again."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agnostics.inference.openai_client import Reply
from agnostics.util.locks import cache_folder

_REPLY = TypeAdapter(Reply)


class AnswerCache:
    """The answers of `model`, a file each, in a folder of the user's cache; several threads and processes may use it.

    An answer is found by the model, the question and the length allowed: change one of them, and it is asked anew.
    """

    def __init__(self, model: str, answer_tokens: int) -> None:
        self._folder = cache_folder() / "answers"
        self._what = [model, answer_tokens]

    def get(self, question: str) -> Reply | None:
        """The answer to `question`, if it is there and not damaged."""
        try:
            return _REPLY.validate_json(self._path(question).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def put(self, question: str, reply: Reply) -> None:
        """Keep an answer: all of it, or nothing."""
        path = self._path(question)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        partial.write_text(json.dumps(asdict(reply)), encoding="utf-8")
        partial.replace(path)

    def _path(self, question: str) -> Path:
        name = hashlib.sha256(json.dumps([*self._what, question]).encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"
