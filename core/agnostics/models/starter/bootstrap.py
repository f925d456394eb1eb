"""The starter model: pretrained on this machine from a language's reference programs, once, and cached."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from agnostics.models.cache import models_folder, new_model
from agnostics.models.starter.corpus import Corpus
from agnostics.models.starter.settings import DEFAULTS, StarterSettings
from agnostics.sandbox.modes import Backends
from agnostics.types.dataset import Dataset
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.util.locks import exclusive_lock

VERSION = 3
"""The version of this procedure: a cached model of an earlier one is not used."""
MIN_FAMILIES = 15
MIN_PASS_RATE = 0.05
CHECKED_TASKS = 67
CHECKED_SAMPLES = 1


def bootstrap(
    language: Language,
    dataset: Dataset,
    *,
    seed: int = 0,
    sandbox: str = "auto",
    backends: Backends | None = None,
    settings: StarterSettings = DEFAULTS,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """The folder of the starter model for `language`, in Hugging Face's format; it is pretrained if it is not cached.

    Its pass@1 on held-out tasks, verified in `sandbox` among `backends`, is in `starter.json`. Raises UsageError if the
    language has too few reference programs, and AgnosticsError if the model learnt too little.
    """
    tasks = list(dataset.tasks("train", seed=seed))
    corpus = Corpus(language, tasks, right_share=settings.right_share, wrong=settings.wrong, seed=seed)
    if len(corpus.families) < MIN_FAMILIES:
        raise UsageError(
            f"the language {language.name!r} has reference programs for {len(corpus.families)} task families of "
            f"{dataset.name!r}, a starter model needs {MIN_FAMILIES}; name another model with --model"
        )
    folder = _folder(language, tasks, seed, settings)
    with nullcontext() if folder.is_dir() else exclusive_lock("models"):
        if not folder.is_dir():
            from agnostics.models.starter.check import pass_at_1
            from agnostics.models.starter.training import pretrain

            progress(
                f"making a starter model for {language.name}: {settings.steps} steps on {len(corpus.families)} families"
            )
            with new_model(folder, {"starter": language.name, "seed": seed}) as made:
                pretrain(corpus, settings, seed, made, progress)
                held_out = _held_out(language, dataset, seed)
                start = pass_at_1(made, language, held_out, CHECKED_SAMPLES, sandbox, backends)
                _check(start)
                report = {"language": language.name, "seed": seed, "pass_at_1": start, **asdict(settings)}
                (made / "starter.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            progress(f"the starter model solves {start:.2f} of held-out tasks at the first attempt")
    return folder


def cached_starter(language: Language, dataset: Dataset, *, seed: int = 0) -> Path | None:
    """The folder of the starter model for `language` if it is cached, else None."""
    folder = _folder(language, list(dataset.tasks("train", seed=seed)), seed, DEFAULTS)
    return folder if folder.is_dir() else None


def _check(start: float) -> None:
    if start < MIN_PASS_RATE:
        raise AgnosticsError(
            f"the starter model solves {start:.3f} of held-out tasks, too few to learn from ({MIN_PASS_RATE:.2f}); "
            "try another --seed, and look at the pack with: agn languages check"
        )


def _held_out(language: Language, dataset: Dataset, seed: int) -> list[Task]:
    known = (task for task in dataset.tasks("test", seed=seed) if language.reference_for(task) is not None)
    return list(islice(known, CHECKED_TASKS))


def _folder(language: Language, tasks: Iterable[Task], seed: int, settings: StarterSettings) -> Path:
    """The folder of the model in the cache."""
    name = f"starter-{language.name}-{_digest(language, tasks, seed, settings)}"
    return models_folder() / name


def _digest(language: Language, tasks: Iterable[Task], seed: int, settings: StarterSettings) -> str:
    """A digest of everything that the model depends on."""
    told = [(task.family, task.statement, task.parameters) for task in tasks]
    inputs = [VERSION, seed, asdict(settings), language.model_dump(mode="json"), told]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
