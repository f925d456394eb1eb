"""`agn results programs` and `agn results program`: what a run wrote, and one program with its tests."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from agnostics.cli.output import console, json_option, plain, print_json, print_table
from agnostics.cli.results.filters import filter_of, verification_options
from agnostics.cli.results.reading import reading, store_option

if TYPE_CHECKING:
    from agnostics.store.queries.completions import StoredAnswer
    from agnostics.store.views import VerificationRow

_COLUMNS = ["number", "phase", "step", "task", "verdict", "tests", "reward", "tokens", "program"]
_WIDEST = 60


@click.command()
@click.argument("run")
@verification_options
@click.option("-n", "count", default=20, show_default=True, type=click.IntRange(min=1), help="How many.")
@store_option
@json_option
def programs(run: str, wanted: dict[str, Any], count: int, store: str | None, as_json: bool) -> None:
    """What RUN wrote and how it was judged, the newest first. RUN may name one phase of a run, as in last:eval_after.

    With --json, one object per line, with the whole program and what the model said around it.
    """
    from agnostics.store.database import default_url, naming
    from agnostics.store.verifications import verification_rows

    with reading(store) as connection:
        rows = list(verification_rows(connection, filter_of(connection, run, wanted), count))
    if as_json:
        for row in rows:
            print_json(asdict(row))
        return
    print_table(_COLUMNS, map(_line, rows))
    if rows:
        named = naming(store or default_url())
        console.print(f"one in full: agn results program {rows[0].completion_id}{named}", markup=False, soft_wrap=True)


@click.command()
@click.argument("number", type=int)
@store_option
@json_option
def program(number: int, store: str | None, as_json: bool) -> None:
    """One program in full, by its NUMBER: the task, the program, and what each test made of it."""
    from agnostics.store.queries.completions import answer_of

    with reading(store) as connection:
        answer = answer_of(connection, number)
    if as_json:
        tests = [{**asdict(ran), **_asked(answer, ran.number)} for ran in answer.ran]
        print_json({**asdict(answer.row), "statement": answer.statement, "tests": tests})
    else:
        _print(answer)


def _line(row: VerificationRow) -> list[Any]:
    lines = [line.strip() for line in (row.program or "").splitlines() if line.strip()]
    first = lines[0] if lines else ""
    shown = f"{first[:_WIDEST]}…" if len(first) > _WIDEST or len(lines) > 1 else first
    tests = f"{row.tests_passed}/{row.tests_total}"
    return [row.completion_id, row.phase, row.step, row.task, row.verdict, tests, row.reward, row.tokens, shown]


def _print(answer: StoredAnswer) -> None:
    row = answer.row
    where = f"run {row.run}, {row.phase}, step {row.step}, task {row.task}, sample {row.sample}"
    judged = f"{row.verdict}: {row.tests_passed} of {row.tests_total} tests passed, {row.tokens} tokens"
    parts = [where, judged, "", answer.statement.strip(), "", (row.program or row.completion).rstrip()]
    click.echo(plain("\n".join(parts)))
    if row.compile_message:
        click.echo(plain(f"\n{row.compile_message.rstrip()}"))
    if answer.ran:
        click.echo()
        texts = ([*_asked(answer, ran.number).values(), ran.stdout, ran.stderr] for ran in answer.ran)
        rows = ([ran.number, ran.verdict, *map(str.rstrip, row)] for ran, row in zip(answer.ran, texts, strict=True))
        print_table(["test", "verdict", "input", "expected", "output", "stderr"], rows)


def _asked(answer: StoredAnswer, number: int) -> dict[str, str]:
    test = answer.asked[number - 1]
    return {"input": test.input, "expected": test.output}
