"""The curves of runs: plots show the stored metrics, and any name can be plotted."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from agnostics.analysis.curves import run_curves, smooth
from agnostics.analysis.plots import plot_runs
from agnostics.analysis.rates import RateEstimate
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from agnostics.util.statistics import bootstrap_interval
from agnostics.web.queries import runs as web_runs
from sqlalchemy import Connection

ACCEPTED, WRONG, OURS = Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.SANDBOX_ERROR
HOSTILE = "models/<script>&amp;$x_1^{2}$\x1b[31m\n\N{PILE OF POO}"
LONG = "org/small-model-" + "a" * 300
Make = Callable[..., CompletionRecord]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "results.db")) as opened:
        yield opened


@pytest.fixture
def connection(store: Store) -> Iterator[Connection]:
    with reading(store.engine) as connection:
        yield connection


def _start(store: Store, lua: Language, model: str = "m") -> str:
    return store.start_run(kind="train", config={}, language=lua, model=model, dataset="starter", seed=5)


def _fill(store: Store, run: str, record: Make, steps: int) -> None:
    """Step n has n programs accepted, one wrong and one of a failed sandbox; two held-out tasks every third step."""
    with store.recorder(run) as recorder:
        for step in range(steps + 1):
            verdicts = [*[ACCEPTED] * step, WRONG, OURS] if step else []
            for sample, verdict in enumerate(verdicts):
                recorder.completion(record(verdict, step=step, sample=sample))
            if step:
                recorder.step(step, {"reward_mean": -0.5 * step, "tokens_mean": 10.0 + step})
            if step % 3 == 0:
                for task, verdict in (("a", ACCEPTED), ("a", WRONG), ("b", ACCEPTED), ("b", OURS)):
                    recorder.completion(record(verdict, step=step, phase="eval_during", task=task))


def test_curves_are_the_stored_metrics(store: Store, lua: Language, record: Make, connection: Connection) -> None:
    run = _start(store, lua)
    _fill(store, run, record, 4)
    curves = run_curves(connection, run)
    assert curves.run.run == run
    assert curves.pass_rate == {step: step / (step + 1) for step in range(1, 5)}
    assert curves.reward == {1: -0.5, 2: -1.0, 3: -1.5, 4: -2.0}
    assert curves.completion_length == {1: 11.0, 2: 12.0, 3: 13.0, 4: 14.0}
    assert list(curves.verdict_fractions) == [ACCEPTED, WRONG, OURS]
    assert curves.verdict_fractions[ACCEPTED] == {step: step / (step + 2) for step in range(1, 5)}
    low, high = bootstrap_interval([0.5, 1.0], seed=5)
    assert curves.held_out == dict.fromkeys((0, 3), RateEstimate(0.75, low, high, 2))


def test_the_held_out_curve_is_of_one_split(store: Store, lua: Language, record: Make, connection: Connection) -> None:
    """Of the validation tasks where there are any, else of the tasks before and after training."""
    validated, other = _start(store, lua), _start(store, lua)
    for run, phases in (
        (validated, ("eval_before", "eval_during", "eval_after")),
        (other, ("eval_before", "eval_after")),
    ):
        with store.recorder(run) as recorder:
            recorder.completion(record(WRONG, step=1))
            for step, phase in enumerate(phases):
                recorder.completion(record(ACCEPTED, step=step, phase=phase, task=phase, family="f"))
                recorder.step(step, {f"{phase}_pass_at_1": 1.0})
    assert list(run_curves(connection, validated).held_out) == [1]
    assert list(run_curves(connection, other).held_out) == [0, 1]
    assert [one.phase for one in web_runs.curves(connection, validated).held_out] == ["eval_during"]
    assert [one.phase for one in web_runs.curves(connection, other).held_out] == ["eval_before", "eval_after"]


def test_smoothing_keeps_steps_and_takes_the_mean_around_each() -> None:
    series = {step: float(step % 2) for step in range(3, 11)}
    mean = smooth(series)
    assert list(mean) == list(series)
    assert (mean[3], mean[6], mean[10]) == (pytest.approx(2 / 3), pytest.approx(0.4), pytest.approx(1 / 3))
    assert smooth({7: 0.5}) == {7: 0.5}


def test_a_run_without_a_training_step_is_one_clear_line(store: Store, lua: Language, connection: Connection) -> None:
    run = _start(store, lua)
    with pytest.raises(UsageError, match=f"run {run} has no training step to draw"):
        run_curves(connection, run)


def _draw(connection: Connection, runs: Sequence[str], folder: Path) -> dict[str, Path]:
    paths = plot_runs([run_curves(connection, run) for run in runs], [], folder, ["png", "svg"])
    assert sorted(paths) == sorted(folder.iterdir())
    return {path.name: path for path in paths}


def test_every_plot_is_a_picture_and_a_text_that_names_run_model_and_axes(
    store: Store, lua: Language, record: Make, connection: Connection, tmp_path: Path
) -> None:
    runs = [_start(store, lua, model) for model in (LONG, HOSTILE)]
    for run, steps in zip(runs, (7, 1), strict=True):
        _fill(store, run, record, steps)
    files = _draw(connection, runs, tmp_path / "new" / "plots")
    shared = {"batch-pass-at-1", "held-out-pass-at-1", "reward", "length"}
    own = {f"{name}-{run}" for run in runs for name in ("pass-at-1", "verdicts")}
    assert files.keys() == {f"{name}.{ending}" for name in shared | own for ending in ("png", "svg")}
    for name, path in files.items():
        if path.suffix == ".png":
            content = path.read_bytes()
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
            assert struct.unpack(">II", content[16:24]) == (1200, 720), name
        else:
            text = _text(path)
            assert "training step" in text
            assert all((run in text) == (run in name or name.partition(".")[0] in shared) for run in runs), name
    assert "small-model" in _text(files["reward.svg"])
    assert "<script>&amp;$x_1^{2}$\N{REPLACEMENT CHARACTER}[31m" in _text(files[f"verdicts-{runs[1]}.svg"])


def _text(path: Path) -> str:
    return " ".join(ElementTree.parse(path).getroot().itertext())


def test_the_same_runs_give_the_same_files(
    store: Store, lua: Language, record: Make, connection: Connection, tmp_path: Path
) -> None:
    run = _start(store, lua)
    _fill(store, run, record, 3)
    first, second = (_draw(connection, [run], tmp_path / name) for name in ("a", "b"))
    assert all(first[name].read_bytes() == second[name].read_bytes() for name in first)


def test_a_folder_that_cannot_be_written_is_named(
    store: Store, lua: Language, record: Make, connection: Connection, tmp_path: Path
) -> None:
    run = _start(store, lua)
    _fill(store, run, record, 1)
    (tmp_path / "file").touch()
    with pytest.raises(AgnosticsError, match=r"/file/plots: Not a directory; name another folder with --out"):
        plot_runs([run_curves(connection, run)], [], tmp_path / "file" / "plots", ["png"])
