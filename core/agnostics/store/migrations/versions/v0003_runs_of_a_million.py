"""Runs of a million programs: their newest ones by an index, first_solved with little to sort, and half the digests.

What an index of runs takes, the second half of every digest gives back.
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

_ADDRESSED = ("language", "task", "program")

# Counted in the order of an index first, so that only steps are sorted: SQLite follows that order unless it sees that
# the phase is one and the same, hence the `||`. The plus keeps it from the index of runs, which would have it look at
# every completion of a run before this one.
FIRST_SOLVED = """
create view first_solved as
select j.run_id as run, t.key as task, t.kind, j.step,
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


def upgrade() -> None:
    """Shorten the digests, add the index, and make the view again."""
    for table in _ADDRESSED:
        op.execute(f"update {table} set sha256 = substr(sha256, 1, 16)")
    op.create_index("verification_by_run", "verification", ["run_id"])
    op.execute("drop view first_solved")
    op.execute(FIRST_SOLVED)
