"""`agn datasets reformulate`: turns problems about Python functions into tasks for any language, with a model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from agnostics.cli.endpoint_session import (
    EndpointSession,
    concurrency_option,
    endpoint_options,
    map_concurrently,
    max_completion_tokens_option,
    open_endpoint,
)
from agnostics.cli.output import json_option, print_json, print_table
from agnostics.cli.output_files import atomic_text_writer, path_beside, require_writable
from agnostics.inference.openai_client import RequestRefused
from agnostics.inference.response_cache import ResponseCache
from agnostics.task_prep.checks import checked_task
from agnostics.task_prep.draft import DraftRejected
from agnostics.task_prep.loaders import load_problems
from agnostics.task_prep.problem import FunctionProblem
from agnostics.task_prep.prompt import reformulation_prompt
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.task import Task
from agnostics.verify import Verifier


@dataclass(frozen=True, slots=True)
class Reformulation:
    """The result for a problem: a task, or the rejection of the completion."""

    problem: FunctionProblem
    completion: str
    result: Task | DraftRejected


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@endpoint_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The file for the tasks.")
@click.option(
    "--rejected",
    type=click.Path(path_type=Path),
    help="The file for rejections; OUTPUT.rejected.jsonl.",
)
@concurrency_option
@max_completion_tokens_option
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, bubblewrap, process or ray://…")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@json_option
def reformulate(
    source: Path,
    output: Path,
    rejected: Path | None,
    concurrency: int,
    max_completion_tokens: int,
    sandbox: str,
    force: bool,
    as_json: bool,
    **endpoint_settings: Any,
) -> int:
    """Write tasks with standard input and output for the problems in SOURCE: a file of MBPP, HumanEval or Exercism.

    The model behind --endpoint rewrites each problem with the prompt of the paper (Appendix B). Its completions are
    checked, also in the sandbox, and rejected ones are written with the reason. Completions are cached, so an
    interrupted command can be run again.
    """
    output = require_writable(output, force)
    rejected = require_writable(rejected or path_beside(output, "rejected"), force)
    problems = _problems(source)
    with open_endpoint(**endpoint_settings) as endpoint, _verifier(sandbox) as verifier:
        cache = ResponseCache(endpoint.model, max_completion_tokens)
        with EndpointSession(endpoint, max_completion_tokens, len(problems), cache) as session:
            results = map_concurrently(_reformulate(session, endpoint.model, verifier), problems, concurrency)
    _write(results, output, rejected, endpoint.model)
    _report(results, output, rejected, session, as_json)
    if not any(isinstance(one.result, Task) for one in results):
        raise AgnosticsError(f"no completion of {endpoint.model!r} could be used; {rejected} says why")
    return 0


def _problems(source: Path) -> list[FunctionProblem]:
    problems = load_problems(source)
    if problems is None:
        raise UsageError(f"{source}: not a file of MBPP, HumanEval or Exercism problems (JSON or JSON lines)")
    return problems


def _reformulate(
    session: EndpointSession, model: str, verifier: Verifier
) -> Callable[[FunctionProblem], Reformulation]:
    def reformulate_one(problem: FunctionProblem) -> Reformulation:
        try:
            completion = session.complete(reformulation_prompt(problem))
        except RequestRefused as error:
            return Reformulation(problem, "", DraftRejected("request_accepted", str(error)))
        try:
            task = checked_task(problem, completion, model, verifier)
        except DraftRejected as rejection:
            return Reformulation(problem, completion.text, rejection)
        return Reformulation(problem, completion.text, task)

    return reformulate_one


def _write(results: Sequence[Reformulation], output: Path, rejected: Path, model: str) -> None:
    with atomic_text_writer(output) as tasks, atomic_text_writer(rejected) as rejections:
        for one in results:
            if isinstance(one.result, Task):
                tasks.write(f"{json.dumps(one.result.model_dump(mode='json', exclude_defaults=True))}\n")
            else:
                rejection = {"id": one.problem.id, "check": one.result.check, "reason": one.result.reason}
                rejections.write(f"{json.dumps({**rejection, 'model': model, 'completion': one.completion})}\n")


def _report(
    results: Sequence[Reformulation], output: Path, rejected: Path, session: EndpointSession, as_json: bool
) -> None:
    failed = Counter(one.result.check for one in results if isinstance(one.result, DraftRejected))
    kept = len(results) - failed.total()
    files = {"output": str(output), "rejected_output": str(rejected)}
    if as_json:
        print_json({"problems": len(results), "kept": kept, "rejected": dict(failed), **files, **session.costs})
        return
    if failed:
        print_table(["failed check", "completions"], [list(pair) for pair in failed.most_common()])
        click.echo()
    click.echo(f"{kept} of {len(results)} problems became tasks: {output}\nrejected {failed.total()}: {rejected}")
    if kept:
        click.echo(f"next:\n  agn datasets show {output}")


def _verifier(sandbox: str) -> Verifier:
    from agnostics.plugins.manager import load_plugins

    return Verifier(sandbox, backends=load_plugins().sandboxes())
