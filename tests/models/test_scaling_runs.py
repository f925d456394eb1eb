"""A scaling experiment as people make it: a design, its runs with `agn sft`, and a fit to the results database."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics.models.flop import TrainingFlop, training_flop
from command_line import Agn

DESIGN = """
config = "{folder}/sft.toml"
candidates = 2

[[scales]]
model = "{model}"
tokens = 1500
batch_tokens = [200, 400]
learning_rate = [1e-3, 1e-2]

[[scales]]
model = "{model}"
tokens = 3000
batch_tokens = [250, 500]
learning_rate = [1e-3, 1e-2]
"""


@pytest.fixture(scope="module")
def model(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=True)


def test_the_cost_of_a_model_leaves_out_embeddings_and_counts_all_heads(model: Path) -> None:
    # A layer: four projections of 192 by 192, three of 192 by 512, two norms of 192, and two of a head of 32.
    layer = 4 * 192 * 192 + 3 * 192 * 512 + 2 * 192 + 2 * 32
    assert training_flop(model) == TrainingFlop(parameters=2 * layer + 192, layers=2, width=192)


@pytest.mark.slow
def test_the_runs_of_a_design_are_what_a_fit_needs(home: Any, agn: Agn, model: Path, tmp_path: Path) -> None:
    for name, numbers in (("train", range(60)), ("held-out", range(60, 70))):
        rows = ({"prompt": f"Print {number}.", "completion": f"print({number})"} for number in numbers)
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    paths = f'[[sources]]\npath = "{tmp_path}/train.jsonl"\n[validation]\npath = "{tmp_path}/held-out.jsonl"\n'
    (tmp_path / "sft.toml").write_text(f"{paths}[train]\nmicro_batch_tokens = 500\n")
    (tmp_path / "design.toml").write_text(DESIGN.format(folder=tmp_path, model=model))
    assert agn("scaling", "design", str(tmp_path / "design.toml"), "-o", str(tmp_path / "runs")).returncode == 0
    for file in sorted((tmp_path / "runs").iterdir()):
        words = ("--store", home.url, "--set", f"output={home.folder / 'runs'}")
        answer = preloaded.run([sys.executable, "-m", "agnostics", "sft", str(file), *words], timeout=300)
        assert answer.returncode == 0
    fitted = agn("scaling", "fit", "--store", home.url, "--json")
    assert fitted.returncode == 0, fitted.stderr
    small, large = fitted.json["scales"]
    assert [len(scale["runs"]) for scale in (small, large)] == [2, 2]
    cost = training_flop(model)
    for tokens, scale in ((1500, small), (3000, large)):
        for run in scale["runs"]:
            assert tokens <= run["tokens"] < tokens + run["batch_tokens"] * 1.5
            assert 0.7 * 200 < run["batch_tokens"] <= 500
            assert cost.per_token(0) < run["compute"] / run["tokens"] < cost.per_token(100)
    assert fitted.json["laws"]["loss"]["points"] == 2
