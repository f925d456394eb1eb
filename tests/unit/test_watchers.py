"""TensorBoard and Weights & Biases: what is written is what is read back, over a resume and without a network."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agnostics.callbacks.callback import Log, WatchedRun, Watcher
from agnostics.callbacks.dispatch import meaning, watched
from agnostics.callbacks.tensorboard import TensorBoard
from agnostics.callbacks.wandb import WeightsAndBiases
from agnostics.types.errors import MissingRequirement

Read = Callable[[Path], dict[tuple[int, str], float]]
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


def _run(folder: Path, history: Mapping[int, Mapping[str, float]] | None = None) -> WatchedRun:
    return WatchedRun(RUN, folder, {"seed": 0, "train": {"learning_rate": 1e-5}, "watch": ()}, history or {}, meaning)


def test_tensorboard_shows_every_figure_with_what_it_is(tmp_path: Path, tensorboard_figures: Read) -> None:
    with TensorBoard().watch(_run(tmp_path)) as log:
        log(0, {"held_out/pass_at_1": 0.25})
        log(1, {"train/pass_rate": 0.5, "train/a_figure_of_a_plugin": -3.0})
    assert tensorboard_figures(tmp_path / "tensorboard") == {
        (0, "held_out/pass_at_1"): 0.25,
        (1, "train/pass_rate"): 0.5,
        (1, "train/a_figure_of_a_plugin"): -3.0,
    }
    (file,) = (tmp_path / "tensorboard").iterdir()
    assert meaning("train/pass_rate").encode() in file.read_bytes()


def test_tensorboard_forgets_what_a_resumed_run_takes_back(tmp_path: Path, tensorboard_figures: Read) -> None:
    for history, steps in (({}, (1, 2, 3)), ({1: {"train/loss": 1.0}}, (2, 3, 4))):
        with TensorBoard().watch(_run(tmp_path, history)) as log:
            for step in steps:
                log(step, {"train/loss": step + len(history) / 2})
    expected = {1: 1.0, 2: 2.5, 3: 3.5, 4: 4.5}
    assert tensorboard_figures(tmp_path / "tensorboard") == {(s, "train/loss"): loss for s, loss in expected.items()}


def test_tensorboard_that_joins_a_resumed_run_shows_all_of_it(tmp_path: Path, tensorboard_figures: Read) -> None:
    with TensorBoard().watch(_run(tmp_path, {1: {"train/loss": 1.0}})) as log:
        log(2, {"train/loss": 2.0})
    assert tensorboard_figures(tmp_path / "tensorboard") == {(s, "train/loss"): float(s) for s in (1, 2)}


@pytest.mark.usefixtures("environment")
def test_the_last_file_of_a_resumed_run_in_wandb_holds_all_of_it(tmp_path: Path, wandb_figures: Read) -> None:
    for history, steps in (({}, (1, 2)), ({1: {"train/loss": 1.0}}, (2, 3))):
        with WeightsAndBiases().watch(_run(tmp_path, history)) as log:
            for step in steps:
                log(step, {"train/loss": float(step)})
                log(step, {"held_out/pass_at_1": 0.5})
        ended = int(time.time())
        while int(time.time()) == ended:  # W&B names a file after the second in which its run began
            time.sleep(0.05)
    latest = tmp_path / "wandb" / "latest-run"
    assert latest.resolve().name.endswith(RUN)
    assert wandb_figures(latest) == {(s, "train/loss"): float(s) for s in (1, 2, 3)} | {
        (s, "held_out/pass_at_1"): 0.5 for s in (2, 3)
    }


def test_wandb_goes_on_offline_where_its_server_cannot_be_reached(
    tmp_path: Path, wandb_figures: Read, environment: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    environment(
        WANDB_MODE="online", WANDB_BASE_URL="http://127.0.0.1:9", WANDB_API_KEY="a" * 40, WANDB_INIT_TIMEOUT="1"
    )
    with WeightsAndBiases().watch(_run(tmp_path)) as log:
        log(1, {"train/loss": 1.0})
    assert [record.levelno for record in caplog.records if record.name.startswith("agnostics")] == [logging.WARNING]
    assert "wandb goes on offline: " in caplog.text
    assert wandb_figures(tmp_path / "wandb" / "latest-run") == {(1, "train/loss"): 1.0}


class _Failing:
    """Fails where it is told to: when it opens, with the first figures, or when it closes."""

    name = "failing"

    def __init__(self, when: str) -> None:
        self._when = when
        self.calls = 0

    def require(self) -> None:
        raise MissingRequirement("nothing to mend")

    @contextmanager
    def watch(self, _run: WatchedRun) -> Iterator[Log]:
        self._reach("open")
        yield self._log
        self._reach("close")

    def _log(self, _step: int, _figures: Mapping[str, float]) -> None:
        self.calls += 1
        self._reach("log")

    def _reach(self, place: str) -> None:
        if place == self._when:
            raise OSError(28, "No space left on device")


def test_the_watcher_of_the_documentation_works(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    names: dict[str, Any] = {}
    exec("import json" + page.partition("```python\nimport json")[2].partition("```")[0], names)
    lines = names["Lines"]()
    assert isinstance(lines, Watcher)
    lines.require()
    with lines.watch(_run(tmp_path)) as log:
        log(1, {"train/loss": 0.5})
    assert json.loads((tmp_path / "figures.jsonl").read_text()) == {"step": 1, "train/loss": 0.5}


@pytest.mark.parametrize(("when", "calls"), [("open", 0), ("log", 1), ("close", 3)])
def test_a_watcher_that_fails_is_told_of_once_and_costs_nobody_else_anything(
    when: str, calls: int, tmp_path: Path, tensorboard_figures: Read, caplog: pytest.LogCaptureFixture
) -> None:
    failing = _Failing(when)
    watchers: list[Watcher] = [failing, TensorBoard()]
    with watched(watchers, _run(tmp_path)) as log:
        for step in (1, 2, 3):
            log(step, {"loss": 1.0})
    (warning,) = caplog.records
    assert warning.getMessage() == (
        "failing takes down no more of this run, which goes on: OSError: [Errno 28] No space left on device"
    )
    assert failing.calls == calls
    assert tensorboard_figures(tmp_path / "tensorboard") == {(step, "train/loss"): 1.0 for step in (1, 2, 3)}


def test_what_ends_the_run_is_not_hidden_by_its_watchers(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), watched([TensorBoard()], _run(tmp_path)):
        raise KeyboardInterrupt
