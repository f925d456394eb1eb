"""Callbacks: who is told what, TensorBoard and Weights & Biases over a resume and without a network, and failures."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agnostics.callbacks.callback import CallbackList, Isolated, MetricsLogger, RunCallback, RunInfo, RunStatus
from agnostics.callbacks.tensorboard import TensorBoardLogger
from agnostics.callbacks.wandb import WandbLogger
from agnostics.profiling.spans import Span
from agnostics.train.metrics import describe_metric

Read = Callable[[Path], dict[tuple[int, str], float]]
Log = Callable[[int, Mapping[str, float]], None]
RUN = "20260101-120000-abcd"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Sets what W&B reads; whoever runs the tests may be logged in."""
    import wandb

    def setting(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    setting(WANDB_MODE="offline", HOME=str(tmp_path / "home"))
    wandb.teardown()
    yield setting
    wandb.teardown()


def _run(folder: Path, history: Mapping[int, Mapping[str, float]] | None = None) -> RunInfo:
    config = {"seed": 0, "train": {"learning_rate": 1e-5}, "loggers": ()}
    return RunInfo(RUN, "train", folder=folder, config=config, history=history or {}, describe_metric=describe_metric)


@contextmanager
def _logging(logger: MetricsLogger, run: RunInfo) -> Iterator[Log]:
    """The logger's function, between the start and the end of a run."""
    logger.run_started(run)
    yield logger.log
    logger.run_finished("finished", {})


def test_tensorboard_shows_every_metric_with_its_description(tmp_path: Path, tensorboard_metrics: Read) -> None:
    with _logging(TensorBoardLogger(), _run(tmp_path)) as log:
        log(0, {"eval/pass_at_1": 0.25})
        log(1, {"train/pass_rate": 0.5, "train/a_metric_of_a_plugin": -3.0})
    assert tensorboard_metrics(tmp_path / "tensorboard") == {
        (0, "eval/pass_at_1"): 0.25,
        (1, "train/pass_rate"): 0.5,
        (1, "train/a_metric_of_a_plugin"): -3.0,
    }
    (file,) = (tmp_path / "tensorboard").iterdir()
    assert describe_metric("train/pass_rate").encode() in file.read_bytes()


def test_tensorboard_forgets_what_a_resumed_run_takes_back(tmp_path: Path, tensorboard_metrics: Read) -> None:
    for history, steps in (({}, (1, 2, 3)), ({1: {"train/loss": 1.0}}, (2, 3, 4))):
        with _logging(TensorBoardLogger(), _run(tmp_path, history)) as log:
            for step in steps:
                log(step, {"train/loss": step + len(history) / 2})
    expected = {1: 1.0, 2: 2.5, 3: 3.5, 4: 4.5}
    assert tensorboard_metrics(tmp_path / "tensorboard") == {(s, "train/loss"): loss for s, loss in expected.items()}


def test_tensorboard_that_joins_a_resumed_run_shows_all_of_it(tmp_path: Path, tensorboard_metrics: Read) -> None:
    with _logging(TensorBoardLogger(), _run(tmp_path, {1: {"train/loss": 1.0}})) as log:
        log(2, {"train/loss": 2.0})
    assert tensorboard_metrics(tmp_path / "tensorboard") == {(s, "train/loss"): float(s) for s in (1, 2)}


@pytest.mark.usefixtures("environment")
def test_the_last_file_of_a_resumed_run_in_wandb_holds_all_of_it(tmp_path: Path, wandb_metrics: Read) -> None:
    for history, steps in (({}, (1, 2)), ({1: {"train/loss": 1.0}}, (2, 3))):
        with _logging(WandbLogger(), _run(tmp_path, history)) as log:
            for step in steps:
                log(step, {"train/loss": float(step)})
                log(step, {"eval/pass_at_1": 0.5})
        ended = int(time.time())
        while int(time.time()) == ended:  # W&B names a file after the second in which its run began
            time.sleep(0.05)
    latest = tmp_path / "wandb" / "latest-run"
    assert latest.resolve().name.endswith(RUN)
    assert wandb_metrics(latest) == {(s, "train/loss"): float(s) for s in (1, 2, 3)} | {
        (s, "eval/pass_at_1"): 0.5 for s in (2, 3)
    }


def test_wandb_continues_offline_where_its_server_cannot_be_reached(
    tmp_path: Path, wandb_metrics: Read, environment: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    environment(
        WANDB_MODE="online", WANDB_BASE_URL="http://127.0.0.1:9", WANDB_API_KEY="a" * 40, WANDB_INIT_TIMEOUT="1"
    )
    with _logging(WandbLogger(), _run(tmp_path)) as log:
        log(1, {"train/loss": 1.0})
    assert [record.levelno for record in caplog.records if record.name.startswith("agnostics")] == [logging.WARNING]
    assert "wandb continues offline: " in caplog.text
    assert wandb_metrics(tmp_path / "wandb" / "latest-run") == {(1, "train/loss"): 1.0}


def test_the_callback_of_the_documentation_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def agn_callbacks" in block]
    names: dict[str, Any] = {}
    exec(code, names)
    (callback,) = names["agn_callbacks"]()
    assert isinstance(callback, RunCallback)
    callback.check_requirements()
    callback.run_started(_run(tmp_path))
    callback.step_finished(1, {"loss": 0.5}, ())
    callback.run_finished("finished", {})
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {"step": 1, "train/loss": 0.5}


class _Failing(RunCallback):
    """Takes down its calls, and fails in some of them."""

    name = "failing"

    def __init__(self, *failing: str) -> None:
        self._failing = failing
        self.calls = list[str]()

    def message(self, text: str) -> None:  # noqa: ARG002
        self._reach("message")

    def run_started(self, run: RunInfo) -> None:  # noqa: ARG002
        self._reach("start")

    def step_finished(self, step: int, metrics: Mapping[str, float], spans: Sequence[Span]) -> None:  # noqa: ARG002
        self._reach("step")

    def flush(self) -> None:
        self._reach("flush")

    def run_finished(self, status: RunStatus, summary: Mapping[str, Any]) -> None:  # noqa: ARG002
        self._reach(f"end {status}")

    def _reach(self, place: str) -> None:
        self.calls.append(place)
        if place in self._failing:
            raise OSError(28, "No space left on device")


def _three_steps(callback: RunCallback, run: RunInfo) -> None:
    callback.run_started(run)
    for step in (1, 2, 3):
        callback.step_finished(step, {"loss": 1.0}, ())
    callback.flush()
    callback.run_finished("finished", {})


@pytest.mark.parametrize(
    ("failing", "calls"),
    [
        (["start"], ["start", "end finished"]),
        (["step"], ["start", "step", "end finished"]),
        (["flush"], ["start", "step", "step", "step", "flush", "end finished"]),
        (["end finished"], ["start", "step", "step", "step", "flush", "end finished"]),
        (["step", "end finished"], ["start", "step", "end finished"]),
    ],
)
def test_an_isolated_callback_that_fails_is_logged_once_and_told_no_more_but_the_end(
    failing: list[str],
    calls: list[str],
    tmp_path: Path,
    tensorboard_metrics: Read,
    caplog: pytest.LogCaptureFixture,
) -> None:
    callback = _Failing(*failing)
    _three_steps(CallbackList([Isolated(callback), Isolated(TensorBoardLogger())]), _run(tmp_path))
    (warning,) = caplog.records
    assert warning.getMessage() == (
        "failing logs no more of this run, which goes on: OSError: [Errno 28] No space left on device"
    )
    assert callback.calls == calls
    assert tensorboard_metrics(tmp_path / "tensorboard") == {(step, "train/loss"): 1.0 for step in (1, 2, 3)}


def test_what_a_callback_raises_that_is_not_isolated_ends_the_run(tmp_path: Path) -> None:
    failing, other = _Failing("step"), _Failing()
    callbacks = CallbackList([failing, other])
    with pytest.raises(OSError, match="No space left"):
        _three_steps(callbacks, _run(tmp_path))
    callbacks.run_finished("failed", {"error": "No space left"})
    assert failing.calls == ["start", "step", "end failed"]
    assert other.calls == ["start", "end failed"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_every_callback_is_told_of_the_end_even_if_one_raises(place: int, tmp_path: Path) -> None:
    told = [_Failing(*(["end finished"] if place == number else [])) for number in range(3)]
    callbacks = CallbackList(told)
    callbacks.run_started(_run(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        callbacks.run_finished("finished", {})
    assert [callback.calls for callback in told] == [["start", "end finished"]] * 3


def test_a_callback_that_has_not_started_is_not_told_of_the_end(tmp_path: Path) -> None:
    told = [_Failing(), _Failing("start"), _Failing()]
    callbacks = CallbackList(told)
    with pytest.raises(OSError, match="No space left"):
        callbacks.run_started(_run(tmp_path))
    callbacks.run_finished("failed", {})
    assert told[0].calls == ["start", "end failed"]
    assert told[2].calls == []


def test_what_ends_a_run_is_not_hidden_by_its_callbacks(tmp_path: Path) -> None:
    from agnostics.train.lifecycle import reported
    from agnostics.util.distributed import SINGLE_PROCESS

    failing = _Failing("end failed")
    callbacks = CallbackList([Isolated(failing), Isolated(TensorBoardLogger())])
    with pytest.raises(KeyboardInterrupt), reported(callbacks, _run(tmp_path), SINGLE_PROCESS):
        raise KeyboardInterrupt
    assert failing.calls == ["start", "end failed"]


def test_an_interrupt_is_not_taken_for_the_failure_of_a_callback(tmp_path: Path) -> None:
    class Interrupted(RunCallback):
        def run_started(self, run: RunInfo) -> None:  # noqa: ARG002
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Isolated(Interrupted()).run_started(_run(tmp_path))
