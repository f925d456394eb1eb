"""`agn results programs` and `agn results program`: the programs of a run, and one program with its tests."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, plain, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option

if TYPE_CHECKING:
    from agnostics.store.queries.completions import StoredCompletion
    from agnostics.store.views import TestRow, VerificationRow

_COLUMNS = ["id", "phase", "step", "task", "verdict", "tests", "reward", "tokens", "program"]
_WIDEST = 60


@click.command()
@click.argument("run")
@verification_options
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="The number of programs.")
@store_option
@json_option
def programs(run: str, filters: dict[str, Any], count: int, store: str | None, as_json: bool) -> None:
    """The programs of RUN with their verdicts, newest first. RUN may name one phase of a run, as in last:eval_after.

    With --json, one object per line, with the whole program and completion.
    """
    from agnostics.store.database import default_url, store_argument
    from agnostics.store.verifications import verification_rows

    with reading(store) as connection:
        rows = list(verification_rows(connection, filter_of(connection, run, filters), count))
    if as_json:
        for row in rows:
            print_json(asdict(row))
        return
    print_table(_COLUMNS, map(_line, rows))
    if rows:
        store_option_ = store_argument(store or default_url())
        console.print(
            f"one in full: agn results program {rows[0].completion_id}{store_option_}", markup=False, soft_wrap=True
        )


@click.command()
@click.argument("completion_id", metavar="ID", type=int)
@store_option
@json_option
def program(completion_id: int, store: str | None, as_json: bool) -> None:
    """One program in full, by the ID of its completion: the task, the program, and the result of each test."""
    from agnostics.store.queries.completions import load_completion

    with reading(store) as connection:
        completion = load_completion(connection, completion_id)
    if as_json:
        tests = [{**asdict(result), **_test(completion, result.number)} for result in completion.results]
        print_json({**asdict(completion.row), "statement": completion.statement, "tests": tests})
    else:
        _print(completion)


def _line(row: VerificationRow) -> list[Any]:
    lines = [line.strip() for line in (row.program or "").splitlines() if line.strip()]
    first = lines[0] if lines else ""
    shown = f"{first[:_WIDEST]}…" if len(first) > _WIDEST or len(lines) > 1 else first
    tests = f"{row.tests_passed}/{row.tests_total}"
    return [row.completion_id, row.phase, row.step, row.task, row.verdict, tests, row.reward, row.tokens, shown]


def _print(completion: StoredCompletion) -> None:
    row = completion.row
    place = f"run {row.run}, {row.phase}, step {row.step}, task {row.task}, sample {row.sample}"
    outcome = f"{row.verdict}: {row.tests_passed} of {row.tests_total} tests passed, {row.tokens} tokens"
    parts = [place, outcome, "", completion.statement.strip(), "", (row.program or row.completion).rstrip()]
    click.echo(plain("\n".join(parts)))
    if row.compile_message:
        click.echo(plain(f"\n{row.compile_message.rstrip()}"))
    if completion.results:
        click.echo()
        rows = ([r.number, r.verdict, *map(str.rstrip, _texts(completion, r))] for r in completion.results)
        print_table(["test", "verdict", "input", "expected", "output", "stderr"], rows)


def _texts(completion: StoredCompletion, result: TestRow) -> list[str]:
    return [*_test(completion, result.number).values(), result.stdout, result.stderr]


def _test(completion: StoredCompletion, number: int) -> dict[str, str]:
    test = completion.tests[number - 1]
    return {"input": test.input, "expected": test.output}
