"""`agn datasets reformulate`: have a model turn problems about Python functions into tasks for any language."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from agnostics.cli.asking import (
    Asking,
    answer_tokens_option,
    concurrency_option,
    endpoint_options,
    open_endpoint,
    side_by_side,
)
from agnostics.cli.output import json_option, print_json, print_table
from agnostics.inference.openai_client import Refused
from agnostics.inference.response_cache import AnswerCache
from agnostics.task_prep.checks import judge
from agnostics.task_prep.draft import Rejected
from agnostics.task_prep.loaders import problems_in
from agnostics.task_prep.problem import Problem
from agnostics.task_prep.prompt import question
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.task import Task
from agnostics.util.files import beside, writable, written
from agnostics.verify import Verifier


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a problem: a task, or what was wrong with the answer."""

    problem: Problem
    answer: str
    made: Task | Rejected


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@endpoint_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file for the tasks.")
@click.option("--rejected", type=click.Path(path_type=Path), help="The file of the rest; OUTPUT.rejected.jsonl.")
@concurrency_option
@answer_tokens_option
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--force", is_flag=True, help="Write over files that are there.")
@json_option
def reformulate(
    source: Path,
    output: Path,
    rejected: Path | None,
    concurrency: int,
    answer_tokens: int,
    sandbox: str,
    force: bool,
    as_json: bool,
    **consulted: Any,
) -> int:
    """Write tasks with standard input and output for the problems in SOURCE: a file of MBPP, HumanEval or Exercism.

    The model behind --endpoint rewrites each as Appendix B of the paper asks it to. Its answers are checked, in the
    sandbox too, and those that fail are kept with the reason. Answers are cached: run it again to go on.
    """
    output, rejected = writable(output, force), writable(rejected or beside(output, "rejected"), force)
    problems = _problems(source)
    with open_endpoint(**consulted) as endpoint, Verifier(sandbox) as verifier:
        answers = AnswerCache(endpoint.model, answer_tokens)
        with Asking(endpoint, answer_tokens, len(problems), answers) as asking:
            outcomes = side_by_side(_reformulate(asking, endpoint.model, verifier), problems, concurrency)
    _write(outcomes, output, rejected, endpoint.model)
    _report(outcomes, output, rejected, asking, as_json)
    if not any(isinstance(outcome.made, Task) for outcome in outcomes):
        raise AgnosticsError(f"no answer of {endpoint.model!r} could be used; {rejected} says why")
    return 0


def _problems(source: Path) -> list[Problem]:
    problems = problems_in(source)
    if problems is None:
        raise UsageError(f"{source}: not a file of MBPP, HumanEval or Exercism problems (JSON or JSON lines)")
    return problems


def _reformulate(asking: Asking, model: str, verifier: Verifier) -> Callable[[Problem], Outcome]:
    def act(problem: Problem) -> Outcome:
        try:
            reply = asking(question(problem))
        except Refused as error:
            return Outcome(problem, "", Rejected("answered", str(error)))
        try:
            task = judge(problem, reply.text, whole=reply.whole, model=model, verifier=verifier)
        except Rejected as reason:
            return Outcome(problem, reply.text, reason)
        return Outcome(problem, reply.text, task)

    return act


def _write(outcomes: Sequence[Outcome], output: Path, rejected: Path, model: str) -> None:
    with written(output) as tasks, written(rejected) as rest:
        for outcome in outcomes:
            made = outcome.made
            if isinstance(made, Task):
                tasks.write(f"{json.dumps(made.model_dump(mode='json', exclude_defaults=True))}\n")
            else:
                failed = {"id": outcome.problem.id, "check": made.check, "reason": made.reason}
                rest.write(f"{json.dumps({**failed, 'model': model, 'answer': outcome.answer})}\n")


def _report(outcomes: Sequence[Outcome], output: Path, rejected: Path, asking: Asking, as_json: bool) -> None:
    failed = Counter(outcome.made.check for outcome in outcomes if isinstance(outcome.made, Rejected))
    kept = len(outcomes) - failed.total()
    files = {"output": str(output), "rejected_output": str(rejected)}
    if as_json:
        print_json({"problems": len(outcomes), "kept": kept, "rejected": dict(failed), **files, **asking.costs})
        return
    if failed:
        print_table(["failed check", "answers"], [list(pair) for pair in failed.most_common()])
        click.echo()
    click.echo(f"{kept} of {len(outcomes)} problems became tasks: {output}\nrejected {failed.total()}: {rejected}")
    if kept:
        click.echo(f"next:\n  agn datasets show {output}")
