"""The books of a run: its entry in the results database, and what is written there. The first rank keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from agnostics.callbacks.callback import Log, WatchedRun, Watcher
from agnostics.callbacks.dispatch import meaning, shown, watched
from agnostics.plugins.loader import PluginFilter
from agnostics.plugins.manager import PluginManager
from agnostics.profiling.chrome_trace import TraceFile
from agnostics.profiling.spans import Span
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading, without_password
from agnostics.store.queries.steps import figures_by_step
from agnostics.train.checkpoint import Progress
from agnostics.train.config import RunConfig
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.util.distributed import Ranks

FROM_THE_START = -1
"""The step that a run is taken back to where it has no checkpoint of a step that is done."""


class Ledger(Protocol):
    """Takes what happens in a run; see `agnostics.store.Recorder`."""

    def completion(self, record: CompletionRecord) -> None:
        """Store a completion with its outcome."""

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        """Store the figures of a step."""

    def flush(self) -> None:
        """Return when everything given so far is stored."""


class Trace(Protocol):
    """Takes the spans of a run's timeline; see `agnostics.profiling.chrome_trace.TraceFile`."""

    def add(self, spans: Iterable[Span]) -> None:
        """Write down spans that have ended."""


class _Unwritten:
    """What the other ranks give their records to."""

    def completion(self, record: CompletionRecord) -> None: ...

    def step(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def flush(self) -> None: ...

    def add(self, spans: Iterable[Span]) -> None: ...


@dataclass(frozen=True, slots=True)
class Books:
    """The results database and the plugins that are told of the run: none on other ranks than the first."""

    store: Store | None
    plugins: PluginManager
    ranks: Ranks

    @property
    def url(self) -> str:
        """The database's, without a password."""
        return without_password(str(self.store.engine.url)) if self.store else ""

    @contextmanager
    def run(self, config: RunConfig, language: Language, resume: Path | None, progress: Progress) -> Iterator[str]:
        """The run's id, from the moment that the store knows of it; a run that fails is stored as failed."""
        name = self.ranks.agreed(lambda: self._entered(config, language, resume, progress))
        self.plugins.run_started(name)
        try:
            yield name
        except BaseException as error:
            with suppress(Exception):  # the first error is the one to report
                self.finish(name, "failed", {"error": str(error)})
            raise
        finally:
            self.plugins.run_finished(name)

    def ledger(self, name: str) -> AbstractContextManager[Ledger]:
        """Where the run's completions and figures go."""
        return self.store.recorder_apart(name) if self.store else nullcontext(_Unwritten())

    def trace(self, folder: Path) -> AbstractContextManager[Trace]:
        """Where the run's timeline goes: into its `folder`."""
        return TraceFile(folder / "trace.json") if self.store else nullcontext(_Unwritten())

    def watched(
        self, watchers: Sequence[Watcher], config: RunConfig, name: str, folder: Path
    ) -> AbstractContextManager[Log]:
        """Where the run's figures go for whoever watches it."""
        if not self.store:
            return nullcontext(lambda *_: None)
        return watched(watchers, WatchedRun(name, folder, self._public(config), self._history(name), meaning))

    def finish(self, name: str, status: Literal["finished", "interrupted", "failed"], summary: dict[str, Any]) -> None:
        """Store how the run ended."""
        if self.store:
            self.store.finish_run(name, status, summary)

    def _entered(self, config: RunConfig, language: Language, resume: Path | None, progress: Progress) -> str:
        assert self.store
        if resume:
            measured = progress.measured == progress.step
            self.store.resume_run(resume.name, progress.step or FROM_THE_START, measured=measured)
            return resume.name
        return self.store.start_run(
            kind="train",
            config=self._public(config),
            language=language,
            model=config.model,
            dataset=config.dataset,
            seed=config.seed,
        )

    def _public(self, config: RunConfig) -> dict[str, Any]:
        """The configuration, without a password in the store's address."""
        return {**config.model_dump(), "store": self.url}

    def _history(self, name: str) -> dict[int, dict[str, float]]:
        """What a resumed run has done, as watchers see it."""
        assert self.store
        with reading(self.store.engine) as connection:
            stored = figures_by_step(connection, name)
        return {step: shown(figures) for step, figures in stored.items()}


def _opened(url: str) -> Store:
    try:
        return Store.open(url)
    except AgnosticsError as error:
        if "no password supplied" not in str(error):
            raise
        advice = "a run's folder keeps none: set PGPASSWORD, put it into ~/.pgpass, or give --store with it"
        raise AgnosticsError(f"{error}; {advice}") from error


@contextmanager
def open_books(url: str, plugins: PluginManager, ranks: Ranks) -> Iterator[Books]:
    """The books in the database at `url`; the plugins of `plugins` are told too."""
    if ranks.first:
        with _opened(url) as store:
            yield Books(store, plugins, ranks)
    else:
        yield Books(None, PluginManager((), PluginFilter.from_environment()), ranks)
