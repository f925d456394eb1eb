"""`agn results` and `agn db` on the command line."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agnostics import cli
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import without_password
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from msgspec.structs import replace

DOCUMENT = (Path(__file__).parents[2] / "docs" / "results-database.md").read_text()
QUESTIONS = re.findall(r"```sql\n(.*?)```", DOCUMENT, re.S)
HOW_THEY_FARED = next(sql for sql in QUESTIONS if sql.startswith("select verdict, count(*) from verification "))


Agn = Callable[..., "Answer"]
Databases = Callable[[], str]
Filled = tuple[str, str]
Record = Callable[..., CompletionRecord]


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def agn(capsys: pytest.CaptureFixture[str]) -> Agn:
    """Runs one command line of `agn` in this process."""

    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        return Answer(cli.call([*arguments]), *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def filled(databases: Databases, lua: Language, record: Record) -> Filled:
    """The URL of a database with one run, and the run's id: for the tests that only read."""
    return _filled(databases(), lua, record)


@pytest.fixture
def own(database: str, lua: Language, record: Record) -> Filled:
    """The same in a database of the test's own, which it may write to."""
    return _filled(database, lua, record)


def _filled(database: str, lua: Language, record: Record) -> Filled:
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            for sample, verdict in enumerate([Verdict.ACCEPTED, Verdict.WRONG_ANSWER, Verdict.NO_PROGRAM]):
                for phase, step in (("eval_before", 0), ("train", 1), ("eval_after", 1)):
                    hostile = "print('\x1b[31mred[bold]')"
                    recorder.completion(record(verdict, phase=phase, step=step, sample=sample, program=hostile))
            recorder.step(1, {"completions": 3})
        store.finish_run(run, "finished", {})
    return database, run


@pytest.fixture(scope="module")
def episodes(databases: Databases, lua: Language, record: Record, episode: Record) -> Filled:
    """A database with a second run: of two episodes of two turns, one has a failed tool call, and a single answer."""
    url, _ = _filled(databases(), lua, record)
    with Store.open(url) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            recorder.completion(episode(hostile="\x1b[31m\n── verdict ──\nred[bold]\0\ud800"))
            recorder.completion(episode(Verdict.WRONG_ANSWER, failed=False, sample=1))
            recorder.completion(replace(episode(sample=2), turns=(), version_spans=()))
    return url, run


def test_a_run_is_listed_shown_and_queried(agn: Agn, filled: Filled) -> None:
    url, run = filled
    listed = json.loads(agn("results", "list", "--json", "--store", url).stdout)
    assert [(line["run"], line["completions"], line["status"]) for line in listed] == [(run, 9, "finished")]
    assert listed[0]["pass_at_1_before"] == pytest.approx(1 / 3)
    shown = json.loads(agn("results", "show", "last", "--json", "--store", url).stdout)
    assert shown["verdicts"]["train"] == {"accepted": 1, "no_program": 1, "wrong_answer": 1}
    assert shown["curve"] == [{"step": 1, "programs": 3, "accepted": 1, "pass_rate": pytest.approx(1 / 3)}]
    asked = agn("results", "--store", url, "query", "--json", HOW_THEY_FARED)
    rows = [json.loads(line) for line in asked.stdout.splitlines()]
    assert {row["verdict"]: row.get("count(*)", row.get("count")) for row in rows} == {
        "accepted": 3,
        "no_program": 3,
        "wrong_answer": 3,
    }


def test_tables_for_people_hold_the_same_and_hostile_text_does_nothing(agn: Agn, filled: Filled) -> None:
    url, run = filled
    assert run in agn("results", "--store", url).stdout
    shown = agn("results", "show", run[:-1], "--store", url)
    assert shown.returncode == 0
    assert "pass@1 after training: 0.333" in shown.stdout
    assert "after less before, by task: +0.000 (95 %: +0.000 to +0.000), p = 1 on 1 tasks" in shown.stdout
    asked = agn("results", "query", "select program from verifications", "--store", url).stdout
    assert "\x1b" not in asked
    assert "red[bold]" in asked


def test_a_query_within_one_long_call_of_a_function_is_stopped(filled: Filled) -> None:
    """PostgreSQL stops by itself, and has no such function."""
    long = "select instr(printf('%.*c', 60000000, 'a'), printf('%.*c', 30000000, 'a') || 'b')"
    query = ["results", "query", long, "--seconds", "0.5", "--store", filled[0]]
    answer = subprocess.run([sys.executable, "-m", "agnostics", *query], capture_output=True, text=True, timeout=60)
    assert answer.returncode == 2
    assert answer.stderr.startswith("agn: SQL: ")
    assert len(answer.stderr.splitlines()) == 1


def test_every_query_of_the_documentation_returns_rows(agn: Agn, episodes: Filled) -> None:
    assert len(QUESTIONS) >= 15
    for sql in QUESTIONS:
        answer = agn("results", "query", sql, "--json", "--store", episodes[0])
        assert (answer.returncode, answer.stderr) == (0, ""), sql
        assert bool(answer.stdout) == ("having count(*) <> m.value" not in sql), sql


def test_the_python_of_the_documentation_runs(filled: Filled, capsys: pytest.CaptureFixture[str]) -> None:
    url, run = filled
    (source,) = re.findall(r"```python\n(.*?)```", DOCUMENT, re.S)
    exec(compile(source.replace('"runs.db"', repr(url)), "results-database.md", "exec"), {})
    said = capsys.readouterr().out
    assert run in said
    assert "starter/1 print" in said


def test_runs_are_listed_by_what_they_are(agn: Agn, filled: Filled) -> None:
    url, run = filled
    for found in (["--language", "lua"], ["--model", "M"], ["--kind", "train"], ["--since", "2026-01-01"]):
        assert [line["run"] for line in _json(agn("results", "list", *found, "--json", "--store", url))] == [run], found
    for missed in (["--language", "r"], ["--model", "%"], ["--status", "failed"], ["--since", "2999-01-01T00:00"]):
        assert _json(agn("results", "list", *missed, "--json", "--store", url)) == [], missed


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([], 9),
        (["--verdict", "accepted"], 3),
        (["--verdict", "accepted", "--verdict", "no_program", "--step", "1"], 4),
        (["--step", "0-1", "--family", "sum", "--task", "starter/1", "--language", "lua"], 9),
        (["--task", "starter/2"], 0),
        (["--family", "product"], 0),
    ],
)
def test_programs_and_exports_hold_what_the_filters_say(
    agn: Agn, filled: Filled, filters: list[str], count: int
) -> None:
    url, run = filled
    listed = agn("results", "programs", "last", *filters, "--json", "--store", url).stdout.splitlines()
    exported = agn("results", "export", *filters, "--store", url).stdout.splitlines()
    assert listed == exported[::-1]
    assert len(exported) == count
    assert all(json.loads(line)["run"] == run for line in exported)
    in_training = agn("results", "export", "last:train", *filters, "--store", url).stdout.splitlines()
    assert in_training == [line for line in exported if json.loads(line)["phase"] == "train"]


def test_every_format_of_an_export_holds_the_same(agn: Agn, filled: Filled, tmp_path: Path) -> None:
    import csv

    import pyarrow.parquet

    for kind in ("jsonl", "csv", "parquet"):
        assert agn("results", "export", "last", "-o", str(tmp_path / f"x.{kind}"), "--store", filled[0]).stderr == ""
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert len(rows) == 9
    assert pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pylist() == rows
    with (tmp_path / "x.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert lines == [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]
    again = agn("results", "export", "-o", str(tmp_path / "x.csv"), "--store", filled[0])
    assert (again.returncode, again.stderr.count("\n")) == (2, 1)
    assert "--force" in again.stderr


def test_an_export_that_fails_leaves_no_file(
    agn: Agn, filled: Filled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    answer = agn("results", "export", "-o", str(tmp_path / "x.parquet"), "--store", filled[0])
    assert (answer.returncode, answer.stdout) == (3, "")
    assert answer.stderr == "agn: pyarrow is not installed; run: pip install 'agnostics[frames]'\n"
    assert not list(tmp_path.glob("*x.parquet*"))


def test_an_export_ends_when_nobody_reads_on(filled: Filled) -> None:
    command = [
        sys.executable,
        "-c",
        "from agnostics.cli import main; main()",
        "results",
        "export",
        "--store",
        filled[0],
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.close()
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode != 0, stderr) == (True, b"")


def test_a_program_is_shown_with_its_task_and_its_tests(agn: Agn, filled: Filled) -> None:
    url, _ = filled
    (row,) = agn(
        "results", "programs", "last:train", "--verdict", "accepted", "--json", "--store", url
    ).stdout.splitlines()
    number = json.loads(row)["completion_id"]
    shown = _json(agn("results", "program", str(number), "--json", "--store", url))
    assert (shown["statement"], shown["program"]) == ("Add.", "print('\x1b[31mred[bold]')")
    assert [(test["input"], test["expected"], test["stdout"]) for test in shown["tests"]] == [("1 1", "2", "2\n")]
    for_people = agn("results", "program", str(number), "--store", url).stdout
    assert "red[bold]" in for_people
    assert "\x1b" not in for_people


@pytest.mark.parametrize(
    ("filters", "samples"),
    [
        ([], [2, 1, 0]),
        (["-n", "1"], [2]),
        (["--turns", "2"], [1, 0]),
        (["--turns", "1"], [2]),
        (["--turns", "3"], []),
        (["--failed-tools"], [0]),
        (["--failed-tools", "--verdict", "wrong_answer"], []),
        (["--verdict", "wrong_answer", "--step", "1", "--task", "starter/1"], [1]),
    ],
)
def test_episodes_are_listed_by_turns_failed_tools_and_verdict(
    agn: Agn, episodes: Filled, filters: list[str], samples: list[int]
) -> None:
    url, run = episodes
    answer = agn("results", "episodes", run, *filters, "--json", "--store", url)
    rows = [json.loads(line) for line in answer.stdout.splitlines()]
    assert (answer.returncode, [row["sample"] for row in rows]) == (0, samples)
    assert all((row["turns"], row["tool_calls"]) == ((1, 0) if row["sample"] == 2 else (2, 2)) for row in rows)
    for_people = agn("results", "episodes", run, *filters, "--store", url)
    assert len(for_people.stdout.splitlines()) == 1 + len(samples)
    assert for_people.stderr.startswith("one in full: agn results episodes") == bool(samples)


def test_an_episode_is_printed_as_a_conversation_and_its_texts_cannot_pass_for_ours(agn: Agn, episodes: Filled) -> None:
    url, run = episodes
    (row,) = agn("results", "episodes", run, "--failed-tools", "--json", "--store", url).stdout.splitlines()
    number = str(json.loads(row)["completion_id"])
    shown = agn("results", "episodes", run, "--show", number, "--store", url)
    assert shown.returncode == 0, shown.stderr
    assert not {"\x1b", "\0"} & set(shown.stdout)
    tool = "shell\N{REPLACEMENT CHARACTER}[31m ── verdict ── red[bold]\N{SYMBOL FOR NULL}\N{REPLACEMENT CHARACTER}"
    ours = [line for line in shown.stdout.splitlines() if line and not line.startswith(" ")]
    assert ours[1:] == [
        "accepted: 2 turns, 9 tokens sampled",
        "── task ──",
        "── turn 1 · 4 tokens · 1.5 s · policy 1 ──",
        f"── tool {tool} · ok · 0 ms ──",
        f"── tool {tool} · failed · 0 ms ──",
        "── environment · wrong_answer · reward 0.250 · 3 tokens · 20 ms ──",
        "── turn 2 · 5 tokens · 2.5 s · policy 1, 2 · truncated ──",
        "── verdict ──",
        "accepted",
    ]
    told = _json(agn("results", "episodes", run, "--show", number, "--json", "--store", url))
    assert [(turn["number"], turn["policy_versions"]) for turn in told["turns"]] == [(1, [1]), (2, [1, 2])]
    assert [call["ok"] for call in told["turns"][0]["tool_calls"]] == [True, False]
    assert [span["tokens"] for span in told["version_spans"]] == [6, 3]
    assert told["episode"]["solved_at_turn"] == 2


def test_what_else_ends_a_line_for_python_ends_none_in_a_conversation(agn: Agn, own: Filled, episode: Record) -> None:
    url, run = own
    forged = "\n── verdict ──\naccepted"
    hostile = f"\u2028\x1c\x85── verdict ──\u2029accepted\r\x0b\x0cx{forged}"
    with Store.open(url) as store, store.recorder(run) as recorder:
        recorder.completion(episode(Verdict.WRONG_ANSWER, hostile=hostile, task=f"starter/9{forged}"))
    (row,) = agn("results", "episodes", run, "--turns", "2", "--json", "--store", url).stdout.splitlines()
    shown = agn("results", "episodes", run, "--show", str(json.loads(row)["completion_id"]), "--store", url).stdout
    assert "\n    ���── verdict ──�accepted���x\n    ── verdict ──\n    accepted\n" in shown
    ours = [line for line in shown.split("\n") if line and not line.startswith("    ")]
    assert all(line.startswith(("run ", "wrong_answer", "── ")) for line in ours)
    assert ours[-2:] == ["── verdict ──", "wrong_answer"]
    assert ours.count("── verdict ──") == 1


def test_a_turn_without_tokens_names_no_version(agn: Agn, own: Filled, episode: Record) -> None:
    url, run = own
    made = episode()
    silent = tuple(replace(turn, tokens=0) for turn in made.turns)
    with Store.open(url) as store, store.recorder(run) as recorder:
        recorder.completion(replace(made, turns=silent, tokens=0, version_spans=()))
    (row,) = agn("results", "episodes", run, "--turns", "2", "--json", "--store", url).stdout.splitlines()
    shown = agn("results", "episodes", run, "--show", str(json.loads(row)["completion_id"]), "--store", url).stdout
    assert "── turn 1 · 0 tokens · 1.5 s ──" in shown


def test_an_episode_of_another_phase_is_not_one_of_the_phase_that_is_named(agn: Agn, filled: Filled) -> None:
    url, run = filled
    (row, *_) = agn("results", "episodes", "last:eval_after", "--json", "--store", url).stdout.splitlines()
    number = str(json.loads(row)["completion_id"])
    assert agn("results", "episodes", "last:eval_after", "--show", number, "--store", url).returncode == 0
    refused = agn("results", "episodes", "last:eval_before", "--show", number, "--store", url)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"agn: --show: the episode {number} is of {run}:eval_after, not of {run}:eval_before\n"


def test_a_single_answer_is_printed_as_one_turn(agn: Agn, filled: Filled) -> None:
    url, run = filled
    shown = agn("results", "episodes", run, "--show", "1", "--store", url).stdout
    assert "── turn 1 · 9 tokens · policy -1 ──" in shown
    assert "environment" not in shown


def test_two_runs_are_compared_for_people_and_as_json(agn: Agn, own: Filled, lua: Language, record: Record) -> None:
    url, run = own
    with Store.open(url) as store:
        other = store.start_run(kind="eval", config={"samples": 4}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(other) as recorder:
            recorder.completion(record(Verdict.WRONG_ANSWER, phase="eval", step=0))
    told = _json(agn("results", "diff", run, other, "--json", "--store", url))
    assert told["settings"] == {"samples": [None, 4]}
    assert [(measure["difference"]["tasks"], measure["lost"]) for measure in told["measures"]] == [(1, ["starter/1"])]
    for_people = agn("results", "diff", run, other, "--store", url).stdout
    assert f"1 task that {run} solves at the end and {other} does not: starter/1" in for_people
    assert re.search(r"^at the end +0\.333 \(.*\) +0\.000 \(.*\) +-0\.333 ", for_people, re.MULTILINE)


def test_detections_are_listed_with_an_example(agn: Agn, own: Filled, record: Record) -> None:
    url, run = own
    assert agn("results", "suspicious", run, "--store", url).stdout == "3 accepted programs, 0 detections\n"
    with Store.open(url) as store, store.recorder(run) as recorder:
        one = record(step=2)
        for number in range(3):
            recorder.completion(
                replace(one, task=one.task.model_copy(update={"id": f"t{number}", "statement": f"{number}"}))
            )
    (suspect,) = _json(agn("results", "suspicious", "last:train", "--step", "2", "--json", "--store", url))
    assert (suspect["name"], suspect["programs"], suspect["program"]) == ("several tasks", 3, "print(2)")
    for_people = agn("results", "suspicious", "last", "--store", url)
    assert for_people.stdout.startswith("6 accepted programs, 1 detection\ndetection ")
    in_full = f"agn results program {suspect['completion_id']} --store {shlex.quote(without_password(url))}"
    assert for_people.stderr == f"one in full: {in_full}\n"


def _json(answer: Answer) -> Any:
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


def test_plots_are_written_and_named(agn: Agn, filled: Filled, tmp_path: Path) -> None:
    url, run = filled
    drawn = agn("results", "plot", "last", run, "--format", "png", "--out", str(tmp_path / "plots"), "--store", url)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    paths = [Path(line) for line in drawn.stdout.splitlines()]
    assert sorted(paths) == sorted((tmp_path / "plots").iterdir())
    assert tmp_path / "plots" / f"pass-at-1-{run}.png" in paths
    again = agn("results", "--store", url, "plot", run, "--format", "png", "--out", str(tmp_path / "plots"), "--json")
    assert json.loads(again.stdout) == [str(path) for path in paths]


def test_plots_without_matplotlib_say_what_to_install(
    agn: Agn, filled: Filled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "agnostics.analysis.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = agn("results", "plot", "last", "--out", str(tmp_path / "plots"), "--store", filled[0])
    assert (answer.returncode, answer.stdout) == (3, "")
    assert answer.stderr == "agn: matplotlib is not installed; run: pip install 'agnostics[plot]'\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["results", "plot", "nope"], "agn: unknown run 'nope'"),
        (["results", "show", "nope"], "agn: unknown run 'nope'"),
        (["results", "programs", "last:eval_befor"], "agn: unknown phase 'eval_befor'; did you mean 'eval_before'?"),
        (["results", "programs", "last", "--verdict", "acepted"], "agn: unknown verdict 'acepted'; did you mean"),
        (["results", "export", "--step", "1-x"], "agn: --step: expected a number or two"),
        (["results", "export", "-o", "x.txt"], "agn: x.txt: name a file that ends in .jsonl or .csv or .parquet"),
        (["results", "episodes", "last", "--show", "0"], "agn: no episode has the id 0; agn results episodes RUN"),
        (["results", "episodes", "last", "--step", str(1 << 31)], "agn: --step: no run has a step 2147483648"),
        (["results", "episodes", "last", "--verdict", "acepted"], "agn: unknown verdict 'acepted'; did you mean"),
        (["results", "program", "0"], "agn: no completion has the id 0"),
        (["results", "diff", "last", "last"], "agn: both are the run"),
        (["results", "query", "selec 1"], "agn: SQL: "),
        (["results", "query", "delete from run"], "agn: SQL: "),
    ],
)
def test_wrong_use_is_one_line_and_exit_status_2(
    agn: Agn, filled: Filled, arguments: list[str], complaint: str
) -> None:
    answer = agn(*arguments, "--store", filled[0])
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith(complaint)
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--turns", "--show", "-n"])
def test_a_number_that_no_database_holds_is_refused(agn: Agn, filled: Filled, option: str) -> None:
    answer = agn("results", "episodes", "last", option, str(1 << 63), "--store", filled[0])
    assert (answer.returncode, answer.stdout) == (2, "")
    assert f"Error: Invalid value for '{option}': {1 << 63} is not in the range" in answer.stderr
    largest = str((1 << 31) - 2)
    assert "range" not in agn("results", "episodes", "last", option, largest, "--store", filled[0]).stderr


def test_a_long_table_is_cut_for_people_and_whole_as_json(agn: Agn, filled: Filled) -> None:
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) select i from n"
    for_people = agn("results", "query", numbers, "--store", filled[0])
    assert len(for_people.stdout.splitlines()) == 1001
    assert "only the first 1000 rows" in for_people.stderr
    assert len(agn("results", "query", numbers, "--json", "--store", filled[0]).stdout.splitlines()) == 1500


def test_db_makes_a_database_and_says_which_schema_it_has(agn: Agn, database: str) -> None:
    before = agn("db", "status", "--store", database, "--json")
    assert (before.returncode, json.loads(before.stdout)["schema"]) == (1, None)
    assert agn("db", "upgrade", "--store", database).returncode == 0
    after = agn("db", "--store", database, "--json")
    assert after.returncode == 0
    assert json.loads(after.stdout)["schema"] == json.loads(after.stdout)["newest"]
    assert agn("results", "list", "--store", database, "--json").stdout == "[]\n"
