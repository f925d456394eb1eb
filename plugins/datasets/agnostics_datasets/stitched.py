"""What the benchmarks share whose tests are written in the language itself: a program passes that exits with 0."""

from __future__ import annotations

from agnostics.task import Comparison, LimitOverrides, Stitch, Task, Test


def stitched_task(
    id_: str, statement: str, stitch: Stitch, run_s: float, *, tags: tuple[str, ...] = (), difficulty: str | None = None
) -> Task:
    """The task of a program that `stitch` puts together: it is run once, on no input, for `run_s` seconds at most."""
    return Task(
        id=id_,
        statement=statement,
        tests=(Test(input="", output=""),),
        compare=Comparison(mode="nothing"),
        limits=LimitOverrides(run_s=run_s),
        stitch=stitch,
        tags=tags,
        difficulty=difficulty,
    )
