"""Tasks of benchmarks with tests in the language itself: a program passes if its exit status is 0."""

from __future__ import annotations

from agnostics import Comparison, LimitOverrides, PromptFormat, Task, Test


def formatted_task(
    id_: str,
    statement: str,
    prompt_format: PromptFormat,
    run_s: float,
    *,
    tags: tuple[str, ...] = (),
    difficulty: str | None = None,
) -> Task:
    """A task whose program `prompt_format` assembles; it runs once, without input, for at most `run_s` seconds."""
    return Task(
        id=id_,
        statement=statement,
        tests=(Test(input="", output=""),),
        compare=Comparison(mode="nothing"),
        limits=LimitOverrides(run_s=run_s),
        prompt_format=prompt_format,
        tags=tags,
        difficulty=difficulty,
    )
