"""Weights & Biases: a run of the same id, uploaded as it goes or kept on disk until `wandb sync`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from agnostics.callbacks.callback import Log, WatchedRun
from agnostics.types.errors import MissingRequirement, describe_error

if TYPE_CHECKING:
    import wandb

_PROJECT = "agnostics"
_FINISH_S = 60.0
"""How long a run that has ended waits for its last figures to be uploaded; they are on disk in any case."""

_log = logging.getLogger(__name__)


class WeightsAndBiases:
    """Writes into `wandb/`. WANDB_MODE decides whether it uploads; where that is not set, a login does.

    Without a network it goes on offline. What a resumed run has done is repeated where W&B does not know of it: offline
    always, for the last file stands for the whole run when it is uploaded.
    """

    name = "wandb"

    def require(self) -> None:
        """See `Watcher.require`."""
        if find_spec("wandb") is None:
            raise MissingRequirement("wandb is not installed; run: pip install 'agnostics[watch]'")

    @contextmanager
    def watch(self, run: WatchedRun) -> Iterator[Log]:
        """See `Watcher.watch`."""
        with _opened(run) as opened:
            # An axis of our own: W&B's refuses the steps that a resumed run repeats.
            opened.define_metric("*", step_metric="step")

            def log(step: int, figures: Mapping[str, float]) -> None:
                opened.log({"step": step, **figures})

            if not opened.resumed:
                for step, figures in run.history.items():
                    log(step, figures)
            yield log


def _opened(run: WatchedRun) -> wandb.Run:
    """The run in W&B; offline where nobody is logged in, and where its server cannot be reached."""
    import wandb

    _silence()
    try:
        chosen = "WANDB_MODE" in os.environ or wandb.login(prompt=False, verify=False)
        return _init(run, None if chosen else "offline")
    except wandb.Error as error:
        upload = f"wandb sync {run.folder / 'wandb' / 'latest-run'}"
        _log.warning("wandb goes on offline: %s; to upload the run later: %s", describe_error(error), upload)
        wandb.teardown()  # it still holds the run's id
        return _init(run, "offline")


def _init(run: WatchedRun, mode: Literal["offline"] | None) -> wandb.Run:
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
        settings=wandb.Settings(console="off", finish_timeout=_FINISH_S),
    )


def _silence() -> None:
    import wandb

    wandb.setup(wandb.Settings(silent=True))  # until it is torn down
