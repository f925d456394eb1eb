"""On one frozen batch, packed or not, loss and gradients are those of TRL's SFTTrainer, in float32."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import preloaded
import pytest
import torch
from agnostics.train.config import TrainConfig
from agnostics.train.sft.documents import Document
from agnostics.train.sft.packing import pack
from agnostics.train.sft.policy import SftStats, SupervisedPolicy
from transformers import AutoModelForCausalLM, MambaConfig

TOLERANCE = 1e-5


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def model(request: pytest.FixtureRequest, tiny_model: Callable[..., Path]) -> Path:
    return tiny_model(tied=request.param)


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    """Twelve documents of 4 to 59 tokens: completions after prompts, turns of conversations, and texts."""
    generator = torch.Generator().manual_seed(3)
    made = []
    for place, size in enumerate(range(4, 64, 5)):
        token_ids = torch.randint(3, 700, (size,), generator=generator).tolist()
        untrained = [1, size // 2, size - 2][place % 3]
        mask = bytearray(untrained) + b"\1" * (size - untrained)
        if place % 4 == 3:
            mask[-3:-1] = b"\0\0"  # another turn
        made.append(Document(array("i", token_ids), bytes(mask)))
    return made


@pytest.fixture(scope="module")
def trl(model: Path, documents: list[Document], tmp_path_factory: Any) -> dict[str, Any]:
    """TRL's loss and gradients."""
    home = tmp_path_factory.mktemp("trl")
    batch = {
        "folder": model,
        "token_ids": [list(document.token_ids) for document in documents],
        "masks": [list(document.mask) for document in documents],
    }
    torch.save(batch, home / "batch.pt")
    script = Path(__file__).with_name("trl_sft_reference.py")
    command = [sys.executable, str(script), str(home / "batch.pt"), str(home / "results.pt")]
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
    answer = preloaded.run(command, capture_output=True, text=True, timeout=300, env=alone)
    assert answer.returncode == 0, answer.stderr
    results: dict[str, Any] = torch.load(home / "results.pt", weights_only=True)
    return results


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row_tokens", "settings"),
    [(1, {}), (100, {}), (1000, {"activation_checkpointing": True})],
    ids=["one document a row", "packed", "one row, recomputed"],
)
def test_loss_and_gradients_are_those_of_trl(
    row_tokens: int, settings: dict[str, Any], model: Path, documents: list[Document], trl: dict[str, Any]
) -> None:
    rows = pack([(0, document) for document in documents], row_tokens)
    stats, gradients = _ours(model, rows, settings)
    theirs = trl["gradients"]
    assert stats.loss == pytest.approx(trl["loss"], abs=TOLERANCE)
    assert gradients.keys() == theirs.keys()
    largest = max(gradient.abs().max().item() for gradient in theirs.values())
    distance = max((gradients[key] - theirs[key]).abs().max().item() for key in theirs)
    print(f"{len(rows)} rows: loss {stats.loss:.6f}, off by {abs(stats.loss - trl['loss']):.1e};", end=" ")
    print(f"largest gradient {largest:.2e}, off by at most {distance:.1e}")
    assert largest > 1e-3  # there is something to agree on
    assert distance <= TOLERANCE * min(largest, 1.0)


@pytest.mark.slow
def test_documents_of_a_row_do_not_attend_to_each_other(model: Path, documents: list[Document]) -> None:
    with SupervisedPolicy(model, TrainConfig(), 1.0) as policy:
        assert policy.separates(documents)


@pytest.mark.slow
def test_a_model_that_reads_across_documents_is_found_out(tmp_path: Path, documents: list[Document]) -> None:
    """State-space layers have no attention that positions could mask."""
    torch.manual_seed(0)
    config = MambaConfig(vocab_size=700, hidden_size=32, num_hidden_layers=2, state_size=4)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    with SupervisedPolicy(tmp_path, TrainConfig(), 1.0) as policy:
        assert not policy.separates(documents)


def _ours(
    folder: Path, rows: list[list[Document]], settings: dict[str, Any]
) -> tuple[SftStats, dict[str, torch.Tensor]]:
    with SupervisedPolicy(folder, TrainConfig(**settings), 1.0) as policy, _gradients(policy) as gradients:
        return policy.update_on(rows, 0.0), gradients


@contextmanager
def _gradients(policy: SupervisedPolicy) -> Iterator[dict[str, torch.Tensor]]:
    """The gradient of every weight, added up over rows as autograd delivers it."""
    found: dict[str, torch.Tensor] = {}

    def add(name: str, gradient: torch.Tensor) -> None:
        found[name] = found.get(name, 0.0) + gradient.clone()

    for name, weight in policy._engine.module.model.named_parameters():
        weight.register_hook(lambda gradient, name=name: add(name, gradient))
    yield found
