"""A cache of endpoint completions on disk, so that no request is paid for twice."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agnostics.inference.openai_client import EndpointCompletion
from agnostics.util.files import atomic_write_text
from agnostics.util.paths import cache_folder

_COMPLETION = TypeAdapter(EndpointCompletion)


class ResponseCache:
    """The completions of `model`, one file each in the user's cache folder; safe for several threads and processes.

    The key is the model, the prompt and the token limit.
    """

    def __init__(self, model: str, max_completion_tokens: int) -> None:
        self._folder = cache_folder() / "responses"
        self._key = [model, max_completion_tokens]

    def get(self, prompt: str) -> EndpointCompletion | None:
        """The cached completion of `prompt`; None if there is none or its file is damaged."""
        try:
            return _COMPLETION.validate_json(self._path(prompt).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def put(self, prompt: str, completion: EndpointCompletion) -> None:
        """Cache a completion. Raises AgnosticsError if its file cannot be written."""
        path = self._path(prompt)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(path, json.dumps(asdict(completion)))

    def _path(self, prompt: str) -> Path:
        name = hashlib.sha256(json.dumps([*self._key, prompt]).encode()).hexdigest()
        return self._folder / name[:2] / f"{name}.json"
