"""The run's entry in the results database. Rank 0 alone opens the database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agnostics.callbacks.callback import RunInfo, metric_group
from agnostics.environments.tools.form import CallForm
from agnostics.store import Store
from agnostics.store.database import reading, without_password
from agnostics.store.queries.runs import CALL_FORM
from agnostics.store.queries.steps import metrics_by_step
from agnostics.train.config import RunConfig
from agnostics.train.metrics import describe_metric
from agnostics.train.sft.config import SftConfig
from agnostics.train.state import TrainerState
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.rollout import Phase
from agnostics.util.distributed import ProcessGroup

BEFORE_FIRST_STEP = -1
"""The step that a run without a checkpoint is taken back to."""
_EVALUATIONS: tuple[Phase, ...] = ("eval_before", "eval_during", "eval_after")


@dataclass(frozen=True, slots=True)
class RunStore:
    """The results database of a run; `store` is None on other ranks than 0."""

    store: Store | None

    @classmethod
    @contextmanager
    def open(cls, url: str, group: ProcessGroup) -> Iterator[RunStore]:
        """The database at `url`. Raises what `Store.open` raises."""
        if not group.is_main:
            yield cls(None)
            return
        with _open_store(url) as store:
            yield cls(store)

    @property
    def url(self) -> str:
        """The database's URL, without a password."""
        return without_password(str(self.store.engine.url)) if self.store else ""

    def start(
        self,
        config: RunConfig | SftConfig,
        language: Language,
        resume: Path | None,
        state: TrainerState,
        kind: Literal["train", "sft"] = "train",
        call_form: CallForm | None = None,
    ) -> RunInfo:
        """Store a new run, or take the run in the folder `resume` back to `state`; what callbacks are told of it.

        `call_form` is that of the model's calls of tools, which its prompts depend on.
        """
        assert self.store
        settings = {**config.model_dump(), "store": self.url, **({CALL_FORM: call_form} if call_form else {})}
        if resume:
            evaluated = state.evaluated_step == state.step
            self.store.resume_run(resume.name, state.step or BEFORE_FIRST_STEP, measured=evaluated)
            run = resume.name
        else:
            run = self.store.start_run(
                kind=kind,
                config=settings,
                language=language,
                model=config.model,
                dataset=config.dataset,
                seed=config.seed,
            )
        return RunInfo(run, kind, config=settings, history=self._history(run), describe_metric=describe_metric)

    def _history(self, run: str) -> dict[int, dict[str, float]]:
        """The metrics of a resumed run, by the names that loggers get."""
        assert self.store
        with reading(self.store.engine) as connection:
            stored = metrics_by_step(connection, run)
        return {step: _logged(metrics) for step, metrics in stored.items()}


def _logged(metrics: Mapping[str, float]) -> dict[str, float]:
    return {_logged_name(name): value for name, value in metrics.items()}


def _logged_name(name: str) -> str:
    """The name of a stored metric for loggers: one for all evaluations on the same tasks, so that they make a curve."""
    for phase in _EVALUATIONS:
        if name.startswith(f"{phase}_"):
            return f"{metric_group(phase)}/{name.removeprefix(f'{phase}_')}"
    return f"train/{name}"


def _open_store(url: str) -> Store:
    try:
        return Store.open(url)
    except AgnosticsError as error:
        if "no password supplied" not in str(error):
            raise
        advice = "a run's folder keeps none: set PGPASSWORD, put it into ~/.pgpass, or give --store with it"
        raise AgnosticsError(f"{error}; {advice}") from error
