"""The starter model: made on this machine from a language's reference programs, once, and kept in the cache."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from itertools import islice
from pathlib import Path

from agnostics.models.starter.corpus import Corpus
from agnostics.models.starter.settings import DEFAULTS, StarterSettings
from agnostics.types.dataset import Dataset
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.util.locks import exclusive_lock
from agnostics.util.paths import cache_folder

VERSION = 3
"""Counts the changes to this procedure after which a cached model is not what it would make."""
FEWEST_KINDS = 15
LOWEST_START = 0.05
CHECKED_TASKS = 67
CHECKED_SAMPLES = 1


def bootstrap(
    language: Language,
    dataset: Dataset,
    *,
    seed: int = 0,
    sandbox: str = "auto",
    settings: StarterSettings = DEFAULTS,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """The folder of the starter model for `language`, in Hugging Face's format; made where it is not in the cache.

    Its pass@1 on held-out tasks, measured in the sandbox, is in `starter.json`. Raises UsageError where the language
    has too few reference programs, and AgnosticsError where the model learnt too little to start from.
    """
    tasks = list(dataset.tasks("train", seed=seed))
    corpus = Corpus(language, tasks, right_share=settings.right_share, wrong=settings.wrong, seed=seed)
    if len(corpus.kinds) < FEWEST_KINDS:
        raise UsageError(
            f"the language {language.name!r} has reference programs for {len(corpus.kinds)} kinds of task of "
            f"{dataset.name!r}, a starter model needs {FEWEST_KINDS}; name another model with --model"
        )
    folder = _folder(language, tasks, seed, settings)
    with nullcontext() if folder.is_dir() else exclusive_lock("models"):
        if not folder.is_dir():
            from agnostics.models.starter.check import pass_at_1
            from agnostics.models.starter.training import make_model

            progress(f"making a starter model for {language.name}: {settings.steps} steps on {len(corpus.kinds)} kinds")
            with _aside(folder) as made:
                make_model(corpus, settings, seed, made, progress)
                start = pass_at_1(made, language, _held_out(language, dataset, seed), CHECKED_SAMPLES, sandbox)
                _check(start)
                report = {"language": language.name, "seed": seed, "pass_at_1": start, **asdict(settings)}
                (made / "starter.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
            progress(f"the starter model solves {start:.2f} of held-out tasks at the first attempt")
    return folder


def starter_here(language: Language, dataset: Dataset, *, seed: int = 0) -> Path | None:
    """The folder of the starter model for `language` where it is in the cache, else None."""
    folder = _folder(language, list(dataset.tasks("train", seed=seed)), seed, DEFAULTS)
    return folder if folder.is_dir() else None


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A path beside `folder` that becomes `folder` at the end, whole; what a killed process left there goes first."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = folder.with_name(".unfinished")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        yield aside
        aside.rename(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _check(start: float) -> None:
    if start < LOWEST_START:
        raise AgnosticsError(
            f"the starter model solves {start:.3f} of held-out tasks, too few to learn from ({LOWEST_START:.2f}); "
            "try another --seed, and look at the pack with: agn languages check"
        )


def _held_out(language: Language, dataset: Dataset, seed: int) -> list[Task]:
    known = (task for task in dataset.tasks("test", seed=seed) if language.reference_for(task) is not None)
    return list(islice(known, CHECKED_TASKS))


def _folder(language: Language, tasks: Iterable[Task], seed: int, settings: StarterSettings) -> Path:
    """Where the model is in the cache, or will be."""
    name = f"starter-{language.name}-{_digest(language, tasks, seed, settings)}"
    return cache_folder() / "models" / name


def _digest(language: Language, tasks: Iterable[Task], seed: int, settings: StarterSettings) -> str:
    """What the model depends on, in sixteen letters."""
    told = [(task.kind, task.statement, task.parameters) for task in tasks]
    inputs = [VERSION, seed, asdict(settings), language.model_dump(mode="json"), told]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]
