"""Supervised runs in the results database, and accepted programs of a run as data of the next."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.queries.runs import find_run
from agnostics.store.read_only import ReadOnlyStore
from agnostics.store.records import TurnRecord
from agnostics.train.sft.records import PromptCompletion, read_records
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from agnostics.web.app import application
from command_line import Agn
from msgspec.structs import replace
from starlette.testclient import TestClient

Record = Callable[..., CompletionRecord]
PROMPT = "Write Lua.\n\nAdd."


@pytest.fixture
def trained(database: str, lua: Language, record: Record) -> str:
    """A database with a run: in training two programs of one task were accepted, one of them twice."""
    with Store.open(database) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            recorder.completion(record(program="print(2)"))
            recorder.completion(record(program="print(2)", step=2))
            recorder.completion(record(program="print(1 + 1)", step=2, sample=1))
            recorder.completion(record(Verdict.WRONG_ANSWER, program="print(3)"))
            recorder.completion(record(Verdict.NO_PROGRAM))
            recorder.completion(replace(record(program="print(4/2)", sample=2), finish_reason="length"))
            recorder.completion(record(program="print(2.0)", phase="eval_after", task="held-out/1"))
    return database


def exported(agn: Agn, database: str, *words: str) -> list[dict[str, str]]:
    answer = agn("results", "export", *words, "--format", "sft", "--store", database)
    assert (answer.returncode, answer.stderr) == (0, "")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_accepted_completions_of_training_are_exported_once_with_the_prompt_of_the_run(agn: Agn, trained: str) -> None:
    assert exported(agn, trained, "last") == [
        {"prompt": PROMPT, "completion": f"```lua\n{program}\n```", "system": None, "task": "starter/1"}
        for program in ("print(2)", "print(1 + 1)")
    ]


def test_an_answer_to_an_observation_is_not_exported_as_one_to_the_prompt(
    agn: Agn, trained: str, record: Record
) -> None:
    turn = TurnRecord("print(3)", 1, "stop", "Wrong.", 1, "wrong_answer", None, (), 1.0, 1.0)
    last = replace(turn, text="print(2 + 0)", observation=None, verdict=None)
    before = exported(agn, trained)
    with Store.open(trained) as store, reading(store.engine) as connection:
        run = find_run(connection, "last")
    with Store.open(trained) as store, store.recorder(run) as recorder:
        recorder.completion(replace(record(program="print(2 + 0)", sample=9), turns=(turn, last)))
    assert exported(agn, trained) == before
    with Store.open(trained) as store, store.recorder(run) as recorder:
        recorder.completion(replace(record(program="print(2 + 0)", sample=10), turns=(last,)))
    assert len(exported(agn, trained)) == len(before) + 1


def test_filters_and_a_named_phase_select_what_is_exported(agn: Agn, trained: str) -> None:
    assert len(exported(agn, trained, "last", "--step", "1")) == 1
    (held_out,) = exported(agn, trained, "last:eval_after")
    assert held_out["task"] == "held-out/1"


def test_the_same_program_of_two_runs_is_exported_once_unless_their_prompts_differ(
    agn: Agn, trained: str, lua: Language, record: Record
) -> None:
    chat = {"system": "Be short.", "thinking": False, "template": "In {language}:\n{statement}"}
    with Store.open(trained) as store:
        for config in ({}, {"chat": chat}):
            run = store.start_run(kind="train", config=config, language=lua, model="m", dataset="starter", seed=0)
            with store.recorder(run) as recorder:
                recorder.completion(record(program="print(2)"))
    assert [(row["system"], row["prompt"]) for row in exported(agn, trained)] == [
        (None, PROMPT),
        (None, PROMPT),
        ("Be short.", "In lua:\nAdd."),
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_an_export_is_read_as_training_data(suffix: str, agn: Agn, trained: str, tmp_path: Path) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    file = tmp_path / f"accepted.{suffix}"
    answer = agn("results", "export", "last", "--format", "sft", "-o", str(file), "--store", trained)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr == f"{file}: 2 examples\n"
    records = [record for _, record in read_records(file)]
    assert records == [PromptCompletion(PROMPT, f"```lua\n{program}\n```") for program in ("print(2)", "print(1 + 1)")]


def test_an_export_as_training_data_is_not_csv(agn: Agn, trained: str, tmp_path: Path) -> None:
    answer = agn("results", "export", "--format", "sft", "-o", str(tmp_path / "x.csv"), "--store", trained)
    assert answer.returncode == 2
    assert "name a file that ends in .jsonl or .parquet" in answer.stderr


@pytest.fixture
def fine_tuned(database: str, lua: Language) -> str:
    """A database with a supervised run of 30 steps."""
    with Store.open(database) as store:
        run = store.start_run(kind="sft", config={}, language=lua, model="m", dataset="a.jsonl", seed=0)
        with store.recorder(run) as recorder:
            for step in range(1, 31):
                recorder.step(step, {"loss": 3 / step, "tokens": 100, "step_s": 1.0})
        store.finish_run(run, "finished", {"loss": 0.1})
    return database


def test_a_supervised_run_is_listed_with_its_steps_and_shown_with_its_losses(agn: Agn, fine_tuned: str) -> None:
    (line,) = json.loads(agn("results", "list", "--kind", "sft", "--json", "--store", fine_tuned).stdout)
    assert (line["kind"], line["steps"], line["completions"]) == ("sft", 30, 0)
    assert agn("results", "list", "--kind", "train", "--json", "--store", fine_tuned).stdout == "[]\n"
    shown = agn("results", "show", "last", "--store", fine_tuned)
    assert shown.returncode == 0
    assert "(sft, finished): m fine-tuned in lua on a.jsonl" in shown.stdout
    assert "30    0.102" in shown.stdout
    report = json.loads(agn("results", "show", "last", "--json", "--store", fine_tuned).stdout)
    assert [point["step"] for point in report["losses"]] == list(range(1, 31))


def test_a_supervised_run_has_pages(fine_tuned: str) -> None:
    with ReadOnlyStore.open(fine_tuned) as reader:
        browser = TestClient(application(reader, token=None), base_url="http://localhost:8000")
        overview = browser.get("/")
        (run,) = {part.partition('"')[0] for part in overview.text.split('href="/runs/')[1:]}
        pages = [
            overview,
            *(browser.get(f"/runs/{run}{end}") for end in ("", "/steps", "/steps/30", "/tasks", "/curves")),
        ]
    assert [page.status_code for page in pages] == [200] * 6, [page.url for page in pages]
    assert "<dt>Steps</dt><dd>30</dd>" in pages[1].text
