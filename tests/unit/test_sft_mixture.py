"""The mixture of sources: targets by epochs, weights and rehearsal, the order of documents, and their packing."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from agnostics.train.sft.config import SftConfig, SourceConfig, load_sft_config, to_toml
from agnostics.train.sft.documents import Document
from agnostics.train.sft.mixture import Draw, Mixture, SftSource
from agnostics.train.sft.packing import pack
from agnostics.types.errors import UsageError
from hypothesis import given
from hypothesis import strategies as st

BATCH = 200


def source(number: int, documents: int, **share: Any) -> SftSource:
    """Documents of 2 to 40 tokens, each different."""
    random = Random(number)
    lengths = [random.randint(2, 40) for _ in range(documents)]
    made = [
        Document(array("i", [number, place, *range(size - 2)]), b"\0" + b"\1" * (size - 1))
        for place, size in enumerate(lengths)
    ]
    return SftSource(SourceConfig(path=f"{number}.jsonl", **share), made, len(made))


def tokens(draws: Iterator[list[Draw]]) -> Counter[int]:
    counts = Counter[int]()
    for number, document in (draw for batch in draws for draw in batch):
        counts[number] += len(document)
    return counts


def test_every_document_is_read_as_often_as_its_source_has_epochs() -> None:
    mixture = Mixture([source(0, 50, epochs=2), source(1, 30)], BATCH, 0)
    read = Counter(tuple(doc.token_ids) for batch in mixture.first_batches(mixture.steps) for _, doc in batch)
    assert sum(read.values()) == 2 * 50 + 30
    assert {count for ids, count in read.items() if ids[0] == 0} == {2}
    assert {count for ids, count in read.items() if ids[0] == 1} == {1}


def test_weights_divide_the_tokens() -> None:
    mixture = Mixture([source(0, 100, weight=3), source(1, 100, weight=1)], BATCH, 0)
    counts = tokens(mixture.first_batches(mixture.steps))
    assert counts.total() == pytest.approx(sum(s.tokens for s in mixture.sources), abs=80)
    assert counts[0] / counts.total() == pytest.approx(0.75, abs=0.02)


def test_rehearsal_takes_its_share_of_the_tokens_in_every_part_of_a_run() -> None:
    mixture = Mixture([source(0, 200), source(1, 20, rehearsal=0.2)], 400, 0)
    batches = list(mixture.first_batches(mixture.steps))
    assert tokens(iter(batches))[0] == mixture.sources[0].tokens  # it comes on top
    for batch in batches[:-1]:
        counts = tokens(iter([batch]))
        assert counts[1] / counts.total() == pytest.approx(0.2, abs=0.11)


@pytest.mark.parametrize("steps", [1, 5, 60])
def test_given_steps_shorten_or_repeat_in_the_same_proportions(steps: int) -> None:
    mixture = Mixture([source(0, 50, epochs=1), source(1, 50, epochs=3)], BATCH, 0)
    batches = list(mixture.first_batches(steps))
    assert len(batches) == steps
    counts, wanted = tokens(iter(batches)), mixture.targets[0] / sum(mixture.targets)
    assert counts[0] / counts.total() == pytest.approx(wanted, abs=40 / counts.total())


@pytest.mark.parametrize("wanted", [1, 5 * BATCH, 9000])
def test_a_run_of_so_many_tokens_ends_with_the_step_that_reaches_them(wanted: int) -> None:
    mixture = Mixture([source(0, 50), source(1, 50)], BATCH, 0)
    steps = mixture.steps_of(wanted)
    assert tokens(mixture.first_batches(steps)).total() >= wanted > tokens(mixture.first_batches(steps - 1)).total()


def test_the_seed_decides_the_order_and_epochs_differ() -> None:
    def order(seed: int) -> list[tuple[int, ...]]:
        mixture = Mixture([source(0, 40, epochs=2)], BATCH, seed)
        return [tuple(doc.token_ids) for batch in mixture.first_batches(mixture.steps) for _, doc in batch]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1)[:40] != order(1)[40:]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60)), max_size=60), st.integers(1, 80))
def test_a_row_holds_documents_of_one_source_and_at_most_its_tokens(draws: list[tuple[int, int]], most: int) -> None:
    documents = [(number, Document(array("i", [number] * size), bytes(size))) for number, size in draws]
    rows = pack(documents, most)
    assert sorted(id(doc) for row in rows for doc in row) == sorted(id(doc) for _, doc in documents)
    sizes = [sum(map(len, row)) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    for row, size in zip(rows, sizes, strict=True):
        assert len({doc.token_ids[0] for doc in row}) == 1
        assert size <= most or len(row) == 1


def test_a_configuration_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    sources = [{"path": 'a "b".jsonl', "epochs": 2.5}, {"path": "c.parquet", "rehearsal": 0.1, "sha256": "00"}]
    validation = {"path": "d.jsonl", "eval_interval": 5}
    options = {"sources": sources, "store": "postgresql://agn:secret@db/runs", "validation": validation}
    config = load_sft_config(None, ["train.lora_rank=8", "chat.system=Be short."], options)
    path.write_text(to_toml(config), encoding="utf-8")
    assert load_sft_config(path, [], {}) == config.model_copy(update={"store": "postgresql://agn@db/runs"})


@pytest.mark.parametrize(
    ("sources", "complaint"),
    [
        ([{"path": "a", "epochs": 2, "weight": 1}], "give one of epochs and weight"),
        ([{"path": "a", "weight": 2}, {"path": "b"}], "give every source a weight, or none"),
        ([{"path": "a", "rehearsal": 0.5}], "each is for rehearsal"),
        ([{"path": "a"}, *[{"path": "b", "rehearsal": 0.5}] * 2], "leave nothing of the tokens"),
        ([{"path": "a", "epoch": 2}], "sources.0.epoch"),
        ([{"path": "a", "rehearsal": 1}], "sources.0.rehearsal"),
    ],
)
def test_sources_that_make_no_mixture_are_refused(sources: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_sft_config(None, [], {"sources": sources})


def test_steps_and_tokens_together_are_refused() -> None:
    with pytest.raises(UsageError, match="give steps or tokens, not both"):
        load_sft_config(None, ["steps=1", "tokens=1"], {})


def test_settings_of_the_model_are_taken_over() -> None:
    config = load_sft_config(None, ["train.lora_rank=4", "train.dtype=bfloat16", "train.weight_decay=0.5"], {})
    settings = config.train.policy_settings()
    assert (settings.lora_rank, settings.dtype, settings.weight_decay) == (4, "bfloat16", 0.5)
    assert isinstance(config, SftConfig)
