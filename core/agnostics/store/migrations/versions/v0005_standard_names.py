"""Standard names: a task's family and prompt format, and the keys of configurations, metrics, a phase and a column.

Digests of tasks are recomputed, as they cover the renamed keys: a task that a new run uses again is stored once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_PORTION = 500

_Names = Mapping[str, str]

_TASK: _Names = {"stitch": "prompt_format"}
_ROLLOUT: _Names = {
    "apart": "separate_process",
    "prompts": "prompts_per_step",
    "group": "group_size",
    "max_new_tokens": "max_completion_tokens",
    "max_running": "max_num_seqs",
    "refill": "dynamic_sampling_rounds",
}
_TRAIN: _Names = {
    "updates": "updates_per_batch",
    "correction_cap": "tis_cap",
    "kl": "kl_coef",
    "mask_cut_off": "mask_truncated",
    "scale_advantages": "normalize_by_std",
    "max_staleness": "max_off_policy_steps",
    "max_gap": "max_logprob_mismatch",
    "gradient_clip": "max_grad_norm",
    "loss_normalisation": "loss_normalization",
    "lora_modules": "lora_target_modules",
}
_EVALUATION: _Names = {"every": "eval_interval"}
_TRAINING_RUN: _Names = {
    "checkpoint_every": "checkpoint_interval",
    "checkpoints": "keep_checkpoints",
    "watch": "loggers",
}
_EVALUATION_RUN: _Names = {
    "max_new_tokens": "max_completion_tokens",
    "max_running": "max_num_seqs",
    "written_tests": "generated_tests",
    "requests": "max_concurrency",
}
_METRICS: _Names = {
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
    "share_accepted": "fraction_accepted",
    "share_wrong_answer": "fraction_wrong_answer",
    "share_runtime_error": "fraction_runtime_error",
    "share_time_limit": "fraction_time_limit",
    "share_memory_limit": "fraction_memory_limit",
    "share_output_limit": "fraction_output_limit",
    "share_compile_error": "fraction_compile_error",
    "share_no_program": "fraction_no_program",
    "share_sandbox_error": "fraction_sandbox_error",
}

VERIFICATIONS = """
create view verifications as
select v.run_id as run, l.name as language, v.phase, v.step, t.key as task, t.family, c.sample, v.verdict,
       v.tests_passed, v.tests_total, w.value as reward, w.advantage, c.tokens, c.finish_reason, v.wall_ms, v.sandbox,
       p.text as program, v.compile_message,
       case when c.after is null then c.before else c.before || p.text || c.after end as completion, v.completion_id
from verification v
join completion c on c.id = v.completion_id
join run r on r.id = v.run_id
join language l on l.id = r.language_id
join task t on t.id = v.task_id
left join program p on p.id = v.program_id
left join reward w on w.completion_id = v.completion_id
"""

# SQLite answers row by row if the grouped columns come first and the rest is joined to them on the left.
PASS_RATES = """
create view pass_rates as
select g.run_id as run, g.phase, g.step, t.key as task, t.family, g.programs, g.accepted,
       g.accepted / cast(g.programs as double precision) as pass_rate
from (select run_id, phase, step, task_id, count(*) as programs,
             sum(case when verdict = 'accepted' then 1 else 0 end) as accepted
      from verification
      where verdict <> 'sandbox_error'
      group by run_id, phase, step, task_id) g
left join task t on t.id = g.task_id
"""

GROUPS = """
create view groups as
select g.run_id as run, l.name as language, g.phase, g.step, t.key as task, t.family, g.programs, g.accepted,
       g.accepted / cast(g.programs as double precision) as pass_rate, g.mean_reward,
       case when g.lowest < g.highest then sqrt(abs(g.mean_square - g.mean_reward * g.mean_reward))
            when g.lowest is not null then 0 end as reward_std,
       g.distinct_programs, g.mean_tokens
from (select v.run_id, v.phase, v.step, v.task_id, count(*) as programs,
             sum(case when v.verdict = 'accepted' then 1 else 0 end) as accepted,
             avg(w.value) as mean_reward, avg(w.value * w.value) as mean_square,
             min(w.value) as lowest, max(w.value) as highest,
             count(distinct v.program_id) as distinct_programs, avg(cast(c.tokens as double precision)) as mean_tokens
      from verification v
      join completion c on c.id = v.completion_id
      left join reward w on w.completion_id = v.completion_id
      where v.verdict <> 'sandbox_error'
      group by v.run_id, v.phase, v.step, v.task_id) g
left join run r on r.id = g.run_id
left join language l on l.id = r.language_id
left join task t on t.id = g.task_id
"""

# Counted in the order of an index first, so that only steps are sorted: SQLite follows that order unless it knows that
# the phase is constant, hence the `||`. The plus prevents it from using the index of runs, which would read every
# completion of a run before this one.
FIRST_SOLVED = """
create view first_solved as
select j.run_id as run, t.key as task, t.family, j.step,
       cast(j.before + (
           select count(*) from verification v
           where v.run_id = j.run_id and v.phase = 'train' and v.step = j.step and v.task_id = j.task_id
             and v.verdict <> 'sandbox_error' and +v.completion_id <= j.completion_id) as bigint) as attempts,
       j.completion_id
from (select g.run_id, g.task_id, g.step, g.so_far - g.programs as before,
             (select min(v.completion_id) from verification v
              where v.run_id = g.run_id and v.phase = 'train' and v.step = g.step and v.task_id = g.task_id
                and v.verdict = 'accepted') as completion_id
      from (select c.*, sum(c.programs) over up_to as so_far, sum(c.accepted) over up_to as solved
            from (select run_id, phase, step, task_id, count(*) as programs,
                         sum(case when verdict = 'accepted' then 1 else 0 end) as accepted
                  from verification
                  where phase || '' = 'train' and verdict <> 'sandbox_error'
                  group by run_id, phase, step, task_id) c
            window up_to as (partition by c.run_id, c.task_id order by c.step rows unbounded preceding)) g
      where g.accepted > 0 and g.solved = g.accepted) j
left join task t on t.id = j.task_id
"""

_run = sa.table("run", sa.column("id"), sa.column("kind"), sa.column("config", sa.JSON))
_metric = sa.table("step_metric", sa.column("name"))
_verification = sa.table("verification", sa.column("phase"))
_task = sa.table(
    "task",
    sa.column("id"),
    sa.column("sha256", sa.LargeBinary),
    sa.column("key"),
    sa.column("family"),
    sa.column("difficulty"),
    sa.column("statement"),
    sa.column("definition", sa.JSON),
)


def upgrade() -> None:
    """Rename in place, and create the views that show what was renamed again."""
    for view in ("verifications", "pass_rates", "groups", "first_solved"):
        op.execute(f"drop view {view}")
    op.execute("alter table task rename column kind to family")
    _rename_in_tasks()
    _rename_in_configurations()
    _rename_metrics()
    op.execute(
        sa.update(_verification).where(_verification.c.phase == "eval_written").values(phase="eval_generated_tests")
    )
    for view in (VERIFICATIONS, PASS_RATES, GROUPS, FIRST_SOLVED):
        op.execute(view)


def _rename_in_tasks() -> None:
    connection = op.get_bind()
    statement = sa.update(_task).where(_task.c.id == sa.bindparam("old_id"))
    statement = statement.values(
        sha256=sa.bindparam("new_sha256"), definition=sa.bindparam("new_definition", type_=sa.JSON)
    )
    for tasks in _portions_of_tasks(connection):
        connection.execute(statement, [_renamed_task(dict(task)) for task in tasks])


def _portions_of_tasks(connection: sa.Connection) -> Iterator[Sequence[Mapping[Any, Any]]]:
    last = 0
    while True:
        query = sa.select(_task).where(_task.c.id > last).order_by(_task.c.id).limit(_PORTION)
        tasks = connection.execute(query).mappings().all()
        if not tasks:
            return
        yield tasks
        last = tasks[-1]["id"]


def _renamed_task(task: dict[str, Any]) -> dict[str, Any]:
    del task["sha256"]
    id_, definition = task.pop("id"), _renamed(task["definition"], _TASK)
    content = json.dumps({**task, "definition": definition}, sort_keys=True)
    digest = hashlib.sha256(content.encode()).digest()[:16]
    return {"old_id": id_, "new_sha256": digest, "new_definition": definition}


def _rename_in_configurations() -> None:
    connection = op.get_bind()
    for run in connection.execute(sa.select(_run)).all():
        config = _training_config(run.config) if run.kind == "train" else _renamed(run.config, _EVALUATION_RUN)
        connection.execute(sa.update(_run).where(_run.c.id == run.id).values(config=config))


def _training_config(config: dict[str, Any]) -> dict[str, Any]:
    sections = {"rollout": _ROLLOUT, "train": _TRAIN, "evaluation": _EVALUATION}
    return {
        name: _renamed(value, sections[name]) if name in sections and isinstance(value, dict) else value
        for name, value in _renamed(config, _TRAINING_RUN).items()
    }


def _renamed(values: Mapping[str, Any], names: _Names) -> dict[str, Any]:
    """`values` in the same order, with the keys in `names` replaced."""
    return {names.get(key, key): value for key, value in values.items()}


def _rename_metrics() -> None:
    new_name = sa.case(_METRICS, value=_metric.c.name)
    op.execute(sa.update(_metric).where(_metric.c.name.in_(_METRICS)).values(name=new_name))
