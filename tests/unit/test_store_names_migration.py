"""Migration of a database with the former names, schema 0004: tasks, configurations, metrics, a phase, the views."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from agnostics.store import CompletionRecord, Store, schema, version
from agnostics.store.database import connect, parse_url, reading, writing
from agnostics.store.records import task_row
from agnostics.types.task import PromptFormat, Task, Test
from agnostics.types.verification import Verdict
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, MetaData, insert, select, text

TRAINED, EVALUATED = "20260101-000000-aaaa", "20260102-000000-bbbb"
PLAIN = Task(id="a", statement="Add.", family="sum", tests=(Test(input="1 1", output="2"),))
FORMATTED = PLAIN.model_copy(
    update={"id": "b", "family": None, "prompt_format": PromptFormat(language="lua", tests="assert(f() == 2)")}
)
OLD_CONFIG = {
    "seed": 3,
    "watch": ["wandb"],
    "checkpoint_every": 5,
    "checkpoints": 2,
    "rollout": {
        "engine": "vllm",
        "apart": True,
        "prompts": 8,
        "group": 16,
        "max_new_tokens": 512,
        "max_running": 64,
        "refill": 3,
    },
    "train": {
        "updates": 2,
        "correction_cap": 2.0,
        "kl": 0.1,
        "mask_cut_off": True,
        "scale_advantages": False,
        "max_staleness": 1,
        "max_gap": 0.5,
        "gradient_clip": 0.2,
        "loss_normalisation": "token",
        "lora_modules": ["q_proj"],
        "zero_stage": 2,
    },
    "evaluation": {"every": 10, "samples": 4},
}
NEW_CONFIG = {
    "seed": 3,
    "loggers": ["wandb"],
    "checkpoint_interval": 5,
    "keep_checkpoints": 2,
    "rollout": {
        "engine": "vllm",
        "separate_process": True,
        "prompts_per_step": 8,
        "group_size": 16,
        "max_completion_tokens": 512,
        "max_num_seqs": 64,
        "dynamic_sampling_rounds": 3,
    },
    "train": {
        "updates_per_batch": 2,
        "tis_cap": 2.0,
        "kl_coef": 0.1,
        "mask_truncated": True,
        "normalize_by_std": False,
        "max_off_policy_steps": 1,
        "max_logprob_mismatch": 0.5,
        "max_grad_norm": 0.2,
        "loss_normalization": "token",
        "lora_target_modules": ["q_proj"],
        "zero_stage": 2,
    },
    "evaluation": {"eval_interval": 10, "samples": 4},
}
OLD_EVALUATION = {"samples": 20, "max_new_tokens": 9, "max_running": 8, "written_tests": 7, "requests": 6, "seed": 5}
NEW_EVALUATION = {
    "samples": 20,
    "max_completion_tokens": 9,
    "max_num_seqs": 8,
    "generated_tests": 7,
    "max_concurrency": 6,
    "seed": 5,
}
METRICS = {
    "share_cut_off": "truncated_fraction",
    "cut_off": "truncated",
    "groups_without_signal": "zero_variance_groups",
    "clipped": "clip_fraction",
    "ratio": "importance_ratio",
    "gap": "logprob_mismatch",
    "gradient_norm": "grad_norm",
    "rejected": "filtered",
    "stale": "stale_rollouts",
    "staleness_mean": "off_policy_steps_mean",
    "staleness_max": "off_policy_steps_max",
    "sampling_s": "generation_s",
    "verifying_s": "verification_wait_s",
    "updating_s": "update_s",
    "syncing_s": "weight_sync_s",
    "seconds": "step_s",
    "hidden_verification": "verification_overlap",
    **{f"share_{verdict}": f"fraction_{verdict}" for verdict in Verdict if verdict is not Verdict.SKIPPED},
    **{
        name: name
        for name in (
            "kl",
            "entropy",
            "policy_entropy",
            "masked",
            "updates",
            "verdict_accepted",
            "eval_before_pass_at_1",
        )
    },
}


@pytest.fixture
def old(databases: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """A database with the schema 0004 that holds a training run and an evaluation under the former names."""
    shutil.copytree(version.MIGRATIONS, before := tmp_path / "before")
    for later in (before / "versions").glob("v000[5-9]*.py"):
        later.unlink()
    engine = connect(parse_url(databases()))
    with monkeypatch.context() as patch:
        patch.setattr(version, "MIGRATIONS", before)
        version.upgrade(engine)
    with writing(engine) as connection:
        _fill(connection)
    return engine


def _fill(connection: Connection) -> None:
    (before := MetaData()).reflect(connection)

    def add(table: str, **values: Any) -> None:
        connection.execute(insert(before.tables[table]).values(**values))

    add("language", id=1, sha256=b"l" * 16, name="lua", definition={})
    started = {"language_id": 1, "model": "m", "dataset": "d", "seed": 0, "started_at": text("current_timestamp")}
    for run, kind, config in ((TRAINED, "train", OLD_CONFIG), (EVALUATED, "eval", OLD_EVALUATION)):
        add("run", id=run, kind=kind, status="finished", config=config, **started)
    add("program", id=1, sha256=b"p" * 16, text="print(2)")
    for number, task in enumerate((PLAIN, FORMATTED), 1):
        add("task", id=number, sha256=bytes([number]) * 16, **_as_it_was(task))
    phases = ((TRAINED, "train", 1), (TRAINED, "train", 1), (EVALUATED, "eval", 2), (EVALUATED, "eval_written", 2))
    for number, (run, phase, task_id) in enumerate(phases, 1):
        add("completion", id=number, sample=0, before="", after="", tokens=2, finish_reason="stop", policy_version=0)
        place = {"run_id": run, "phase": phase, "step": 1, "task_id": task_id, "program_id": 1}
        counts = {"tests_passed": 1, "tests_total": 1, "wall_ms": 1.0, "sandbox": "process", "attempts": 1}
        add("verification", completion_id=number, **place, verdict="accepted", **counts)
        add("reward", completion_id=number, value=float(number == 1))
    for value, name in enumerate(METRICS):
        add("step_metric", run_id=TRAINED, step=1, name=name, value=float(value))


def _as_it_was(task: Task) -> dict[str, Any]:
    columns = {name: value for name, value in task_row(task).items() if name not in {"sha256", "family"}}
    definition = {"stitch" if key == "prompt_format" else key: value for key, value in columns["definition"].items()}
    return {**columns, "kind": task.family, "definition": json.loads(json.dumps(definition))}


def _rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        return [tuple(row) for row in connection.execute(text(sql))]


def test_configurations_of_both_kinds_of_runs_get_the_new_keys_in_the_same_order(old: Engine) -> None:
    version.upgrade(old)
    with reading(old) as connection:
        configs = connection.scalars(select(schema.run.c.config).order_by(schema.run.c.id)).all()
    assert configs == [NEW_CONFIG, NEW_EVALUATION]
    assert [_keys(config) for config in configs] == [_keys(NEW_CONFIG), _keys(NEW_EVALUATION)]


def _keys(config: Mapping[str, Any]) -> list[Any]:
    return [(name, _keys(value)) if isinstance(value, dict) else name for name, value in config.items()]


def test_metrics_keep_their_values_under_the_new_names(old: Engine) -> None:
    version.upgrade(old)
    stored = dict(_rows(old, "select name, value from step_metric"))
    assert stored == {new: float(value) for value, new in enumerate(METRICS.values())}


def test_a_task_that_is_recorded_again_is_the_migrated_one(
    old: Engine, record: Callable[..., CompletionRecord]
) -> None:
    version.upgrade(old)
    store = Store(old)
    with store.recorder(TRAINED) as recorder:
        for task in (PLAIN, FORMATTED):
            recorder.completion(replace(record(step=2), task=task))
    tasks = _rows(old, "select id, key, family from task order by id")
    assert tasks == [(1, "a", "sum"), (2, "b", None)]
    with reading(old) as connection:
        stored = connection.execute(select(schema.task.c.sha256, schema.task.c.definition).order_by(schema.task.c.id))
        expected = [task_row(task) for task in (PLAIN, FORMATTED)]
        assert [tuple(row) for row in stored] == [
            (row["sha256"], json.loads(json.dumps(row["definition"]))) for row in expected
        ]


def test_views_and_the_phase_have_the_new_names(old: Engine) -> None:
    version.upgrade(old)
    assert _rows(old, "select family, reward_std from groups where phase = 'train'") == [("sum", 0.5)]
    assert _rows(old, "select family, attempts from first_solved") == [("sum", 1)]
    assert _rows(old, "select phase, family from pass_rates where task = 'b' order by phase") == [
        ("eval", None),
        ("eval_generated_tests", None),
    ]
    assert _rows(old, "select count(*) from verifications where family = 'sum'") == [(2,)]


def test_the_result_is_the_schema_of_a_new_database(old: Engine, databases: Callable[[], str]) -> None:
    version.upgrade(old)
    new = connect(parse_url(databases()))
    version.upgrade(new)
    assert _columns(old) == _columns(new)
    assert version.version_of(old) == version.newest_version()


def _columns(engine: Engine) -> dict[str, list[tuple[str, str]]]:
    with reading(engine) as connection:
        (reflected := MetaData()).reflect(connection, views=True)
    return {table.name: [(c.name, str(c.type)) for c in table.columns] for table in reflected.tables.values()}
