"""Supervised runs in the results database, and accepted programs of a run as data of the next."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agnostics.environments.math import MathWithPython
from agnostics.environments.tools.form import CallForm
from agnostics.store import CompletionRecord, Store
from agnostics.store.database import reading
from agnostics.store.queries.runs import find_run
from agnostics.store.read_only import ReadOnlyStore
from agnostics.store.records import TurnRecord
from agnostics.train.sft.records import Conversation, PromptCompletion, read_records
from agnostics.types.language import Language
from agnostics.types.rollout import ToolCallRecord
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


NONE = {"messages": None, "append_only": None}


def exported(agn: Agn, database: str, *words: str) -> list[dict[str, Any]]:
    answer = agn("results", "export", *words, "--format", "sft", "--store", database)
    assert (answer.returncode, answer.stderr) == (0, "")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_accepted_completions_of_training_are_exported_once_with_the_prompt_of_the_run(agn: Agn, trained: str) -> None:
    assert exported(agn, trained, "last") == [
        {"prompt": PROMPT, "completion": f"```lua\n{program}\n```", "system": None, **NONE, "task": "starter/1"}
        for program in ("print(2)", "print(1 + 1)")
    ]


TURN = TurnRecord("print(3)", 1, "stop", "Wrong.", 1, "wrong_answer", None, (), 1.0, 1.0)
LAST = replace(TURN, text="print(2 + 0)", observation=None, verdict=None)
CALL = ToolCallRecord(tool="python", arguments={"code": "1"}, output="1", ok=True)


def recorded(database: str, run: str, *records: CompletionRecord) -> None:
    with Store.open(database) as store, store.recorder(run) as recorder:
        for one in records:
            recorder.completion(one)


def test_an_accepted_episode_is_exported_once_as_a_conversation(agn: Agn, trained: str, record: Record) -> None:
    before = exported(agn, trained)
    with Store.open(trained) as store, reading(store.engine) as connection:
        run = find_run(connection, "last")
    tool = replace(TURN, text="call", observation="1", tool_calls=(CALL,))
    episode = replace(record(program="print(2 + 0)", sample=9), turns=(TURN, tool, LAST))
    truncated = replace(episode, turns=(replace(TURN, finish_reason="length"), LAST), sample=10)
    wrong = replace(record(Verdict.WRONG_ANSWER, program="print(2 + 0)", sample=11), turns=(TURN, LAST))
    held_out = replace(record(program="print(2 + 0)", phase="eval_after"), turns=(TURN, LAST))
    alone = replace(record(program="print(2 + 0)", sample=12), turns=(LAST,))
    recorded(trained, run, episode, replace(episode, step=2), truncated, wrong, held_out, alone)
    *others, conversation, answer = exported(agn, trained)
    assert others == before
    assert answer["completion"] == "```lua\nprint(2 + 0)\n```"
    assert conversation == {
        **{"prompt": None, "completion": None, "system": None},
        "messages": [
            {"role": "user", "content": PROMPT},
            {"role": "assistant", "content": "print(3)"},
            {"role": "user", "content": "Wrong."},
            {"role": "assistant", "content": "call"},
            {"role": "tool", "content": "1"},
            {"role": "assistant", "content": episode.text},
        ],
        "append_only": True,
        "task": "starter/1",
    }


@pytest.fixture
def with_tools(database: str, lua: Language, record: Record) -> Callable[[dict[str, str]], str]:
    """Stores a run in the environment `math-python`, with an episode whose answer is no program."""

    def make(told: dict[str, str]) -> str:
        config = {"environment": "math-python", "environment_options": {"command_s": 5.0}, **told}
        last = replace(LAST, text="\\boxed{2}")
        answered = replace(record(program=None), turns=(replace(TURN, text="call", tool_calls=(CALL,)), last))
        direct = replace(record(program=None, sample=1), text="\\boxed{2}")
        with Store.open(database) as store:
            run = store.start_run(kind="train", config=config, language=lua, model="m", dataset="d", seed=0)
        recorded(database, run, answered, direct, replace(direct, sample=2))
        return database

    return make


@pytest.mark.parametrize("form", ["text", "qwen"])
def test_a_prompt_announces_tools_in_the_form_that_the_run_s_model_knew(
    form: CallForm, agn: Agn, with_tools: Callable[[dict[str, str]], str], lua: Language
) -> None:
    conversation, answer = exported(agn, with_tools({"call_form": form}))
    system = MathWithPython().system_prompt(lua, form)
    assert conversation["messages"][0] == {"role": "system", "content": system}
    assert conversation["messages"][3]["role"] == "tool"
    assert (answer["completion"], answer["system"]) == ("\\boxed{2}", system)


def test_a_run_whose_prompts_are_unknown_is_named(agn: Agn, with_tools: Callable[[dict[str, str]], str]) -> None:
    answer = agn("results", "export", "--format", "sft", "--store", with_tools({}))
    assert answer.returncode == 2
    assert "did not store the form of tool calls" in answer.complaint


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
def test_an_export_is_read_as_training_data(
    suffix: str, agn: Agn, trained: str, record: Record, tmp_path: Path
) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    file = tmp_path / f"accepted.{suffix}"
    with Store.open(trained) as store, reading(store.engine) as connection:
        run = find_run(connection, "last")
    recorded(trained, run, replace(record(program="print(2 + 0)"), turns=(TURN, LAST)))
    answer = agn("results", "export", "last", "--format", "sft", "-o", str(file), "--store", trained)
    assert (answer.returncode, answer.stdout) == (0, "")
    assert answer.stderr == f"{file}: 3 examples\n"
    *records, conversation = [record for _, record in read_records(file)]
    assert isinstance(conversation, Conversation)
    assert conversation.append_only
    assert [message["role"] for message in conversation.messages] == ["user", "assistant"] * 2
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
                if step % 10 == 0:
                    recorder.step(step, {"eval_during_loss": 4 / step})
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
    assert "validation loss after step 30: 0.133" in shown.stdout
    report = json.loads(agn("results", "show", "last", "--json", "--store", fine_tuned).stdout)
    assert [point["step"] for point in report["losses"]] == list(range(1, 31))


def test_the_losses_of_a_supervised_run_are_drawn_beside_the_curves_of_a_training_run(
    agn: Agn, fine_tuned: str, lua: Language, record: Record, tmp_path: Path
) -> None:
    with Store.open(fine_tuned) as store:
        train = store.start_run(kind="train", config={}, language=lua, model="m", dataset="d", seed=0)
    recorded(fine_tuned, train, record())
    (supervised,) = json.loads(agn("results", "list", "--kind", "sft", "--json", "--store", fine_tuned).stdout)
    words = ("--out", str(tmp_path), "--format", "svg", "--store", fine_tuned)
    answer = agn("results", "plot", train, supervised["run"], *words)
    assert answer.returncode == 0, answer.stderr
    assert {Path(line).name for line in answer.stdout.splitlines()} == {
        *("batch-pass-at-1.svg", "reward.svg", "length.svg", "loss.svg"),
        *(f"pass-at-1-{train}.svg", f"verdicts-{train}.svg"),
    }
    assert "on its validation examples" in (tmp_path / "loss.svg").read_text()


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
    curves = pages[-1].json()["values"]
    assert curves["loss"][-1] == 0.1
    assert [value for value in curves["eval_during_loss"] if value is not None] == [0.4, 0.2, 4 / 30]
