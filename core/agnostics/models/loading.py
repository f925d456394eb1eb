"""Model loading: folders, GGUF files, names on the Hugging Face hub, tokenizers, stop tokens and context lengths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agnostics.models import gguf, hub
from agnostics.models.stop_tokens import END_TOKENS
from agnostics.types.errors import UsageError, unknown_name_error
from agnostics.util.text import first_line


def find_model(name: str, say: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the model `name`: a folder, a GGUF file or a folder with one, or a name on the hub.

    The last may be `OWNER/NAME/FILE.gguf`. A GGUF file is converted. Raises UsageError if it is not a model.
    """
    found = _local(name) or hub.download(name)
    file = _gguf(found)
    return gguf.convert(file, say) if file else _checked(found)


def find_local_model(name: str) -> Path | None:
    """As `find_model`, but a GGUF file that is not converted, and None if the model would have to be downloaded."""
    found = _local(name) or hub.cached(name)
    if found is None:
        return None
    file = _gguf(found)
    return gguf.converted(file) or file if file else _checked(found)


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer in `folder`. Raises UsageError if it cannot be loaded or has no chat template."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # tokenizer.json is complete. The class in tokenizer_config.json would be rebuilt from its vocabulary alone, and is
    # wrong for DeepSeek Coder, whose class is given as LlamaTokenizer: every space would be lost.
    loader = PreTrainedTokenizerFast if (folder / "tokenizer.json").is_file() else AutoTokenizer
    try:
        tokenizer = loader.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"{folder}: its tokenizer cannot be loaded: {first_line(error)}") from error
    if not tokenizer.chat_template:
        raise UsageError(f"{folder}: its tokenizer has no chat template; give it one as chat_template.jinja")
    return tokenizer


def stop_ids(folder: Path, tokenizer: Any) -> tuple[int, ...]:
    """The stop tokens: those in the folder's files and in the tokenizer, and those of the model's family."""
    named = [_settings(folder, file).get("eos_token_id") for file in ("config.json", "generation_config.json")]
    ids = {tokenizer.eos_token_id}
    for stops in named:
        ids.update(stops if isinstance(stops, list) else [stops])
    tokens = tokenizer.get_added_vocab()
    ids.update(tokens.get(name) for name in END_TOKENS.get(_settings(folder).get("model_type", ""), ()))
    return tuple(sorted(ids - {None}))


def context_length(folder: Path) -> int:
    """The most tokens of a prompt and its completion.

    LongRoPE (Phi 4 Mini) uses other frequencies beyond the original context length: transformers switches for each
    longer sequence, vLLM for all sequences if one could be longer. Up to the original length the two agree.
    """
    settings = _settings(folder)
    longest = int(settings.get("max_position_embeddings", 1 << 30))
    rope = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    if "longrope" not in (rope.get("rope_type"), rope.get("type")):
        return longest
    return int(rope.get("original_max_position_embeddings") or settings["original_max_position_embeddings"])


def default_temperature(folder: Path) -> float:
    """The sampling temperature that the model's files recommend, or else 1."""
    return float(_settings(folder, "generation_config.json").get("temperature") or 1.0)


def _local(name: str) -> Path | None:
    """The folder or the GGUF file `name`, or None if it can only be a name on the hub."""
    path = Path(name).expanduser()
    if path.exists():
        return path
    parts = 1 + name.endswith(gguf.SUFFIX)
    if path.is_absolute() or name.startswith(".") or name.count("/") != parts:
        siblings = [str(path) for path in path.parent.glob("*/")] if path.parent.is_dir() else []
        raise unknown_name_error("model", name, ["starter", *siblings])
    return None


def _gguf(found: Path) -> Path | None:
    """The GGUF file that `found` is or holds, None if it is an ordinary folder."""
    if found.is_file():
        if found.suffix != gguf.SUFFIX:
            raise UsageError(f"{found} is not a model: neither a folder nor a GGUF file (*{gguf.SUFFIX})")
        return found
    return gguf.gguf_in(found)


def _checked(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise UsageError(f"{folder} is not a model folder: it has no config.json")
    if not any(folder.glob("*.safetensors")):
        raise UsageError(f"{folder} is not a model folder: it has no weights (*.safetensors)")
    return folder.resolve()


def _settings(folder: Path, file: str = "config.json") -> dict[str, Any]:
    path = folder / file
    settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return settings
