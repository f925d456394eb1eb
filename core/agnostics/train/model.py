"""The model of a run: a folder, a name on the Hugging Face hub, and what its tokenizer says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agnostics.errors import UsageError, unknown


def find_model(name: str) -> Path:
    """The folder of the model `name`. Raises UsageError where there is none, or where a folder holds no model."""
    folder = Path(name).expanduser()
    if folder.exists():
        return _checked(folder)
    if folder.is_absolute() or name.startswith(".") or name.count("/") != 1:
        siblings = [str(path) for path in folder.parent.glob("*/")] if folder.parent.is_dir() else []
        raise unknown("model", name, ["starter", *siblings])
    return _from_hub(name)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer in `folder`. Raises UsageError where it cannot be loaded or has no chat template."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{folder}: its tokenizer cannot be loaded: {_line(error)}") from error
    if not tokenizer.chat_template:
        raise UsageError(f"{folder}: its tokenizer has no chat template; give it one as chat_template.jinja")
    return tokenizer


def stop_ids(folder: Path, tokenizer: Any) -> tuple[int, ...]:
    """The tokens that end an answer: those of the folder's generation_config.json, and the tokenizer's."""
    path = folder / "generation_config.json"
    configured = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.exists() else None
    ids = configured if isinstance(configured, list) else [configured]
    return tuple(sorted({token for token in (*ids, tokenizer.eos_token_id) if token is not None}))


def _checked(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder} is not a model folder: it has no config.json")
    if not any(folder.glob("*.safetensors")):
        raise UsageError(f"{folder} is not a model folder: it has no weights (*.safetensors)")
    return folder.resolve()


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    patterns = ["*.json", "*.safetensors", "*.jinja", "*.txt"]
    try:
        return _checked(Path(snapshot_download(name, allow_patterns=patterns, etag_timeout=10)))
    except (OSError, ValueError) as error:  # the hub's own errors and the network's are of these kinds
        raise UsageError(f"model {name!r}: no such folder, and not to be had from the hub: {_line(error)}") from error


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
