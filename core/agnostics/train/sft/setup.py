"""Setup of supervised fine-tuning: resolve and read everything that a configuration names, before a run is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from agnostics.callbacks.callback import RunCallback
from agnostics.models.loading import context_length, find_model, load_tokenizer, stop_ids
from agnostics.models.resolve import resolve_model
from agnostics.plugins.manager import PluginManager
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.train.sft.config import SftConfig, SourceConfig, ValidationConfig
from agnostics.train.sft.documents import Document, DocumentEncoder, end_of_message
from agnostics.train.sft.mixture import Mixture, SftSource
from agnostics.train.sft.records import read_records
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.util.files import sha256
from agnostics.util.settings import absolute_model, absolute_name, absolute_path
from agnostics.util.text import plural

ExampleFile = TypeVar("ExampleFile", SourceConfig, ValidationConfig)


@dataclass(frozen=True)
class SftInputs:
    """The inputs of a run. `folder` holds the model to continue with, and `steps` is the number of the last step.

    `validation` holds the documents that are not trained, none if there is no such file.
    """

    language: Language
    folder: Path
    tokenizer: Any
    mixture: Mixture
    validation: Sequence[Document]
    loggers: list[RunCallback]
    steps: int


def check(config: SftConfig, plugins: PluginManager) -> None:
    """Raise UsageError for an unknown name or damaged data. Nothing heavy is imported, so that the answer is quick.

    Raises MissingRequirement if a logger lacks its package.
    """
    if not config.sources:
        raise UsageError("there is nothing to train on; name a file with --data, or [[sources]] in the configuration")
    plugins.language(config.language)
    _loggers(config, plugins)
    files: list[SourceConfig | ValidationConfig] = [
        *config.sources,
        *([config.validation] if config.validation else []),
    ]
    for file in files:
        if not any(True for _ in read_records(_path(file))):
            raise UsageError(f"{file.path}: holds no example")
    if config.model != "starter":
        resolve_model(config.model, plugins, config.language)


def prepare(
    config: SftConfig, plugins: PluginManager, say: Callable[[str], None], resumed: Path | None = None
) -> SftInputs:
    """Resolve everything that `config` names, and encode the sources' examples.

    `resumed` is the model's folder of a resumed run. Raises UsageError for missing, damaged or changed inputs,
    MissingRequirement if a logger lacks its package.
    """
    loggers = _loggers(config, plugins)
    # A checkpoint of adapters belongs to the model they were added to; its own weights have them merged.
    is_checkpoint = resumed is not None and not config.train.lora_rank
    model = str(resumed) if is_checkpoint else config.model
    folder = find_model(model) if is_checkpoint else resolve_model(model, plugins, config.language, say=say)
    tokenizer = load_tokenizer(folder)
    encoder = _encoder(config, folder, tokenizer)
    sources = [_source(source, encoder, say) for source in config.sources]
    mixture = Mixture(sources, config.train.batch_tokens, config.seed)
    return SftInputs(
        language=plugins.language(config.language),
        folder=folder,
        tokenizer=tokenizer,
        mixture=mixture,
        validation=_documents(config.validation, encoder, say)[0] if config.validation else [],
        loggers=loggers,
        steps=config.steps or (mixture.steps_of(config.tokens) if config.tokens else mixture.steps),
    )


def _encoder(config: SftConfig, folder: Path, tokenizer: Any) -> DocumentEncoder:
    """Makes documents of the model in `folder`."""
    stops = stop_ids(folder, tokenizer)
    longest = min(config.train.max_example_tokens, context_length(folder))
    renderer = ConversationRenderer(tokenizer, config.chat, stops)
    return DocumentEncoder(renderer, end_of_message(tokenizer, stops, config.chat), longest)


def resolved_config(config: SftConfig, inputs: SftInputs, store: str, output: Path) -> SftConfig:
    """`config` with every default filled in, and with paths that are valid from any folder."""
    sources = tuple(map(_resolved, config.sources))
    names = {"language": absolute_name(config.language), "model": absolute_model(config.model)}
    length = {"steps": inputs.steps, "tokens": None}
    validation = config.validation and _resolved(config.validation)
    return config.model_copy(
        update={**names, **length, "sources": sources, "validation": validation, "store": store, "output": str(output)}
    )


def _resolved(file: ExampleFile) -> ExampleFile:
    return file.model_copy(update={"path": absolute_path(file.path), "sha256": sha256(_path(file))})


def _source(config: SourceConfig, encoder: DocumentEncoder, say: Callable[[str], None]) -> SftSource:
    return SftSource(config, *_documents(config, encoder, say))


def _documents(
    file: SourceConfig | ValidationConfig, encoder: DocumentEncoder, say: Callable[[str], None]
) -> tuple[list[Document], int, int]:
    """The documents of a file, the number of its examples, and of those that are left out."""
    path = _path(file)
    _check_unchanged(path, file.sha256)
    documents, examples, left_out = list[Document](), 0, 0
    for place, record in read_records(path):
        encoded = encoder.encode(record, place)
        documents += encoded
        examples += 1
        left_out += not encoded
    if not examples:
        raise UsageError(f"{path}: holds no example")
    if not documents:
        raise UsageError(
            f"{path}: each of its {plural(examples, 'example')} has more than {encoder.max_tokens} tokens; "
            "see train.max_example_tokens"
        )
    if left_out:
        say(f"{path}: {left_out} of {examples} examples are left out: they have more than {encoder.max_tokens} tokens")
    return documents, examples, left_out


def _check_unchanged(path: Path, expected: str | None) -> None:
    if expected and path.is_file() and sha256(path) != expected:
        raise UsageError(f"{path}: modified since the run began; to use it, remove its sha256 from the configuration")


def _path(file: SourceConfig | ValidationConfig) -> Path:
    return Path(file.path).expanduser()


def _loggers(config: SftConfig, plugins: PluginManager) -> list[RunCallback]:
    loggers = [plugins.callback(name) for name in config.loggers]
    for logger in loggers:
        logger.check_requirements()
    return loggers
