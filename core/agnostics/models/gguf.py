"""GGUF files: converted once into a folder in Hugging Face's format, in the user's cache."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from agnostics.models.cache import cached_models, models_folder, new_model, write_origin
from agnostics.models.shape import ModelShape, shape_of
from agnostics.types.errors import MissingRequirement, UsageError
from agnostics.util.files import sha256
from agnostics.util.locks import exclusive_lock
from agnostics.util.text import first_line

if TYPE_CHECKING:
    from gguf import GGUFReader

SUFFIX = ".gguf"
_EQUAL_HEAD = 0.2
"""The relative distance up to which a head and the input embeddings are the same weights, quantised twice. Two kinds of
quantisation differ by 0.05 to 0.1; weights that are not the same, by more than 1."""


def gguf_in(folder: Path) -> Path | None:
    """The GGUF file of a folder without other weights; None without one. Raises UsageError if there are several."""
    files = sorted(folder.glob(f"*{SUFFIX}"))
    if any(folder.glob("*.safetensors")) or not files:
        return None
    if len(files) > 1:
        raise UsageError(f"{folder} has several GGUF files; name one: {', '.join(file.name for file in files)}")
    return files[0]


def converted(file: Path) -> Path | None:
    """The folder of the cached model that was made of `file` as it is now; None if there is none."""
    stamp = _stamp(file)
    return next((model.folder for model in cached_models() if model.origin.get("gguf") == stamp), None)


def convert(file: Path, say: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of the model in `file`; it is converted if it is not in the cache, with a progress bar on stderr.

    Weights are unpacked to bfloat16. A head that equals the input embeddings, but for its quantisation, is tied to
    them. The folder's name holds the file's SHA-256, so that a file that moves is not converted again.

    Raises UsageError if the file is damaged, or if transformers cannot read its architecture or quantisation, and
    MissingRequirement without the package `gguf`.
    """
    if known := converted(file):
        return known
    with exclusive_lock("models"), _progress() as progress:
        task = progress.add_task("checksum", total=file.stat().st_size)
        digest = sha256(file, lambda size: progress.advance(task, size))
        origin = {"gguf": _stamp(file), "sha256": digest}
        if same := next((model for model in cached_models() if model.origin.get("sha256") == digest), None):
            write_origin(same.folder, {**same.origin, **origin})  # the file has moved, or it was touched
            return same.folder
        reader = _checked_reader(file)
        folder = models_folder() / f"{file.stem.lower()}-{digest[:12]}"
        say(f"converting {file.name} into {folder}")
        with new_model(folder, origin) as temporary:
            _convert(file, reader, temporary)
    return folder


def gguf_shape(file: Path) -> ModelShape:
    """The shape of the model in `file`, from its header; see `convert` for what it raises."""
    from transformers import AutoConfig

    reader = _checked_reader(file)
    with tempfile.TemporaryDirectory(prefix="agn-gguf-") as folder, _readable(file), _read_once(reader):
        AutoConfig.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
        return shape_of(Path(folder))


def _stamp(file: Path) -> dict[str, Any]:
    """The file's path, size and time: as long as they are the same, it is not read again."""
    status = file.stat()
    return {"path": str(file.resolve()), "size": status.st_size, "modified_ns": status.st_mtime_ns}


def _checked_reader(file: Path) -> GGUFReader:
    """A reader of the file. Raises UsageError unless the file names its architecture and holds all its tensors."""
    reader = _read(file)
    field = reader.get_field("general.architecture")
    if field is None:
        raise UsageError(f"{file}: it does not say of which architecture it is")
    end = max((int(tensor.data_offset + tensor.n_bytes) for tensor in reader.tensors), default=0)
    if end == 0 or end > file.stat().st_size:
        raise UsageError(f"{file}: it ends before its last tensor; download it again")
    return reader


def _read(file: Path) -> GGUFReader:
    try:
        from agnostics.models.gguf_reader import PlainReader
    except ModuleNotFoundError as error:
        raise MissingRequirement("gguf is not installed; run: pip install 'agnostics[train]'") from error
    try:
        return PlainReader(file)
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise UsageError(f"{file}: not a readable GGUF file: {first_line(error)}") from error


@contextmanager
def _read_once(reader: GGUFReader) -> Iterator[None]:
    """Give transformers `reader` wherever it would read the file again: for a configuration, a tokenizer and weights
    three times, seconds each with a large vocabulary."""
    import gguf

    package: Any = gguf
    original = package.GGUFReader
    package.GGUFReader = lambda *_args, **_kwargs: reader
    try:
        yield
    finally:
        package.GGUFReader = original


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Raise what transformers says of an architecture or a quantisation that it cannot read as UsageError."""
    try:
        yield
    except (ValueError, KeyError, NotImplementedError, RuntimeError) as error:
        raise UsageError(
            f"{file}: transformers cannot read it: {first_line(error)}; name the original model, or another "
            "quantisation (Q4_K_M and Q8_0 are common)"
        ) from error


def _convert(file: Path, reader: GGUFReader, folder: Path) -> None:
    """Write the model and the tokenizer in `file` into `folder`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    with _readable(file), _read_once(reader), _loading_bar():
        tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
        model: Any = AutoModelForCausalLM.from_pretrained(
            file.parent,
            gguf_file=file.name,
            dtype=torch.float32,
            quantization_config=GgufConfig(dequantize=True),
        )
    _tie_equal_head(model, reader)
    _forget_quantisation(model)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tie_equal_head(model: Any, reader: GGUFReader) -> None:
    """Tie the head to the input embeddings if they are equal but for quantisation; the finer of both are kept."""
    head, embeddings = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    if head is embeddings or head.shape != embeddings.shape:
        return
    if (head - embeddings).norm() > _EQUAL_HEAD * embeddings.norm():
        return
    size = {tensor.name: int(tensor.n_bytes) for tensor in reader.tensors}
    if size.get("output.weight", 0) > size.get("token_embd.weight", 0):
        embeddings.data.copy_(head.data)
    model.config.tie_word_embeddings = True
    model.tie_weights()


def _forget_quantisation(model: Any) -> None:
    """The weights are plain tensors now; transformers would refuse to save a model that it takes for a packed one."""
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config


@contextmanager
def _loading_bar() -> Iterator[None]:
    """Let transformers show its progress bar, one step for each weight."""
    from transformers import logging

    was_enabled = logging.is_progress_bar_enabled()
    with catch_warnings(action="ignore"):  # of the hub's own bars, which stay off
        logging.enable_progress_bar()
    try:
        yield
    finally:
        if not was_enabled:
            logging.disable_progress_bar()


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
