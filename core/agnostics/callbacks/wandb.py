"""Weights & Biases: a run of the same id, uploaded while it goes on or kept on disk until `wandb sync`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from agnostics.callbacks.callback import MetricsLogger, RunInfo, RunStatus
from agnostics.types.errors import MissingRequirement, describe

if TYPE_CHECKING:
    import wandb

_PROJECT = "agnostics"
_FINISH_TIMEOUT_S = 60.0
"""How long a finished run waits for its last metrics to be uploaded; they are on disk in any case."""

_log = logging.getLogger(__name__)


class WandbLogger(MetricsLogger):
    """Writes into `wandb/`. WANDB_MODE decides whether it uploads; if that is not set, a login does.

    Without a network it continues offline. The metrics of a resumed run are repeated if W&B does not know them: offline
    always, because the last file stands for the whole run when it is uploaded.
    """

    name: ClassVar[str] = "wandb"

    def check_requirements(self) -> None:
        """See `RunCallback.check_requirements`."""
        if find_spec("wandb") is None:
            raise MissingRequirement("wandb is not installed; run: pip install 'agnostics[watch]'")

    def run_started(self, run: RunInfo) -> None:
        """See `RunCallback.run_started`."""
        self._wandb_run = _open(run)
        # An axis of our own: W&B refuses the steps that a resumed run repeats.
        self._wandb_run.define_metric("*", step_metric="step")
        if not self._wandb_run.resumed:
            for step, metrics in run.history.items():
                self.log(step, metrics)

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """See `MetricsLogger.log`."""
        self._wandb_run.log({"step": step, **metrics})

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:  # noqa: ARG002
        """See `RunCallback.run_finished`."""
        self._wandb_run.finish(exit_code=1 if status == "failed" else 0)


def _open(run: RunInfo) -> wandb.Run:
    """The run in W&B; offline if nobody is logged in, or its server cannot be reached."""
    import wandb

    _silence()
    try:
        online = "WANDB_MODE" in os.environ or wandb.login(prompt=False, verify=False)
        return _init(run, None if online else "offline")
    except wandb.Error as error:
        upload = f"wandb sync {run.folder}/wandb/latest-run"
        _log.warning("wandb continues offline: %s; to upload the run later: %s", describe(error), upload)
        wandb.teardown()  # it still holds the run's id
        return _init(run, "offline")


def _init(run: RunInfo, mode: Literal["offline"] | None) -> wandb.Run:
    import wandb

    _silence()
    return wandb.init(
        dir=run.folder,
        project=os.environ.get("WANDB_PROJECT", _PROJECT),
        id=run.id,
        name=run.id,
        config=dict(run.config),
        resume="allow",
        mode=mode,
        settings=wandb.Settings(console="off", finish_timeout=_FINISH_TIMEOUT_S),
    )


def _silence() -> None:
    import wandb

    wandb.setup(wandb.Settings(silent=True))  # until it is torn down
