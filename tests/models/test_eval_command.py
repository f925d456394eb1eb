"""`agn eval` as people use it: with a model, behind an endpoint, and on recorded completions; killed, and resumed."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from agnostics.evaluate.generated_tests import REQUEST
from chat_server import ChatServer
from command_line import Agn

AGN = [sys.executable, "-c", "from agnostics.cli import main; main()"]
RIGHT, WRONG, CRASH = "print(io.read('n') + 1)", "print(1)", "error('no')"


@pytest.fixture
def evaluate(agn: Agn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agn:
    """Runs `agn eval` in a folder of its own, with its own store."""
    monkeypatch.chdir(tmp_path)
    return partial(agn, "eval", *_fixed(tmp_path))


def _fixed(folder: Path) -> list[str]:
    return ["--store", str(folder / "results.db"), "--sandbox", "bubblewrap"]


def _tasks(folder: Path, count: int) -> Path:
    """Tasks "0", "1", … of two tests each; odd ones are hard."""
    tests = [{"input": str(n), "output": str(n + 1)} for n in (0, 41)]
    tasks = [
        {"id": str(n), "statement": f"Task {n}: add 1.", "tests": tests, "split": "test", "tags": ["sums", f"t{n % 2}"]}
        | {"difficulty": ("easy", "hard")[n % 2]}
        for n in range(count)
    ]
    return _written(folder / "tasks.jsonl", tasks)


def _written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _block(program: str) -> str:
    return f"Here:\n```lua\n{program}\n```"


def _completions(path: Path, programs: dict[str, list[str]]) -> Path:
    records = [{"task": task, "completion": _block(p)} for task, found in programs.items() for p in found]
    return _written(path, records)


def _query(folder: Path, statement: str) -> list[Any]:
    with sqlite3.connect(folder / "results.db", timeout=30) as database:
        return database.execute(statement).fetchall()


# Recorded completions


def test_recorded_completions_are_scored_as_computed_by_hand(evaluate: Agn, tmp_path: Path) -> None:
    tasks = _tasks(tmp_path, 3)
    programs = {
        "0": [RIGHT, RIGHT, WRONG, CRASH],  # pass@1 1/2, pass@2 1 - 1/6
        "1": [WRONG, WRONG, WRONG, RIGHT],  # 1/4, 1/2
        "2": [WRONG, CRASH, "print(", WRONG],
    }
    files = ("--dataset", str(tasks), "--completions", str(_completions(tmp_path / "c.jsonl", programs)))
    answer = evaluate(*files, "--k", "1,2,4", "--vote", "--json")
    assert answer.returncode == 0, answer.stderr
    ((found,), []) = answer.json.values()
    rates = {name: rate["rate"] for name, rate in found["rates"].items()}
    assert found["model"] == "c.jsonl"
    assert rates == pytest.approx(
        {"pass@1": 3 / 12, "pass@2": (5 / 6 + 1 / 2) / 3, "pass@4": 2 / 3, "majority@4": 1 / 3}
        | {"short-3@4": 0.0, "best@4": 1 / 3},  # the shortest are WRONG and CRASH; WRONG passes the first test too
    )
    assert {name: (rate["rate"], rate["tasks"]) for name, rate in found["by_difficulty"].items()} == {
        "easy": (0.25, 2),
        "hard": (0.25, 1),
    }
    assert {name: rate["tasks"] for name, rate in found["by_tag"].items()} == {"sums": 3, "t0": 2, "t1": 1}
    assert found["verdicts"] == {"wrong_answer": 6, "accepted": 3, "runtime_error": 3}
    assert _query(tmp_path, "select kind, status from run") == [("eval", "finished")]
    assert _query(tmp_path, "select count(*) from test_result where verdict = 'skipped'") == [(0,)]


def test_two_evaluations_are_compared_task_by_task_and_drawn(evaluate: Agn, tmp_path: Path) -> None:
    tasks = str(_tasks(tmp_path, 8))
    worse = _completions(tmp_path / "worse.jsonl", {str(n): [WRONG] for n in range(8)})
    better = _completions(tmp_path / "better.jsonl", {str(n): [RIGHT] for n in range(8)})
    (tmp_path / "worse.toml").write_text(f'dataset = "{tasks}"\ncompletions = "{worse.name}"\n')
    first = evaluate("worse.toml", "--json").json["evaluations"][0]
    assert first["rates"]["pass@1"] == {"rate": 0.0, "low": 0.0, "high": pytest.approx(0.3244, abs=1e-4), "tasks": 8}
    answer = evaluate(
        *("--dataset", tasks, "--completions", str(better), "--compare", first["run"], "--plot", "new/chart.svg")
    )
    assert "+1.000 (95 %: +1.000 to +1.000), p = 0.0078 on 8 tasks" in answer.stdout
    assert "pass@1" in (tmp_path / "new" / "chart.svg").read_text()


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"task": "0"}', "c.jsonl:2: completion: Field required"),
        ('{"task": "7", "completion": ""}', "c.jsonl:2: unknown task '7'"),
        ('{"task": "0", "completion": "", "sample": 0}', "c.jsonl:2: a second sample 0 of the task '0'"),
        ("text", "c.jsonl:2: Invalid JSON"),
    ],
)
def test_a_line_that_is_no_completion_is_named(evaluate: Agn, tmp_path: Path, line: str, complaint: str) -> None:
    path = _completions(tmp_path / "c.jsonl", {"0": [RIGHT]})
    path.write_text(f"{path.read_text()}{line}\n")
    answer = evaluate("--dataset", str(_tasks(tmp_path, 1)), "--completions", "c.jsonl")
    assert answer.returncode == 2
    assert complaint in answer.stderr.splitlines()[-1]


PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
PEAK += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def test_twenty_thousand_completions_take_little_more_memory_than_a_thousand(tmp_path: Path) -> None:
    """They are 100 MB of text; 8,192 completions may wait for the database. No program is among them: it is quick."""
    files = ["--dataset", str(_tasks(tmp_path, 1000)), "--completions", str(tmp_path / "c.jsonl")]
    # A process of its own starts it, for a peak begins with that of who forks.
    command = [sys.executable, "-c", PEAK, *AGN, "eval", *_fixed(tmp_path), *files]
    peaks = []
    for samples in (1, 20):
        with (tmp_path / "c.jsonl").open("w") as file:
            for n in range(1000 * samples):
                file.write(json.dumps({"task": str(n % 1000), "completion": f"{n} " * 900}) + "\n")
        peaks.append(int(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout))  # KiB
    assert _query(tmp_path, "select count(*) from verification where verdict = 'no_program'") == [(21_000,)]
    assert peaks[1] < peaks[0] + 65_000, peaks


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_evaluation_that_ended_early_resumes_with_the_missing_rollouts(
    evaluate: Agn, tmp_path: Path, how: signal.Signals
) -> None:
    slow = "for i = 1, 8e6 do local x = i % 7 end\n" + RIGHT
    programs = {str(n): [f"-- {n} {k}\n{slow}" if k % 2 else WRONG for k in range(20)] for n in range(20)}
    files = ["--dataset", str(_tasks(tmp_path, 20)), "--completions", str(_completions(tmp_path / "c.jsonl", programs))]
    process = subprocess.Popen([*AGN, "eval", *_fixed(tmp_path), *files], stderr=subprocess.PIPE, text=True)
    stored = 0
    while stored < 40:
        assert process.poll() is None
        with suppress(sqlite3.OperationalError):  # before the tables are there
            ((stored,),) = _query(tmp_path, "select count(*) from verification")
        time.sleep(0.01)
    process.send_signal(how)
    _, said = process.communicate(timeout=30)
    ((run, status),) = _query(tmp_path, "select id, status from run")
    ended = {signal.SIGKILL: (-signal.SIGKILL, "running"), signal.SIGINT: (130, "interrupted")}
    assert (process.returncode, status) == ended[how]
    assert (f"to resume: agn eval --resume {run}" in said) == (how is signal.SIGINT)
    ((stored, last),) = _query(tmp_path, "select count(*), max(completion_id) from verification")
    assert stored < 400
    answer = evaluate("--resume", "last", "--json")
    assert answer.returncode == 0, answer.stderr
    assert answer.json["evaluations"][0]["rates"]["pass@1"]["rate"] == pytest.approx(0.5)
    assert _query(tmp_path, "select count(*), count(distinct task || '/' || sample) from verifications") == [(400, 400)]
    assert _query(tmp_path, f"select count(*) from verification where completion_id > {last}") == [(400 - stored,)]
    assert _query(tmp_path, "select status from run") == [("finished",)]


# Behind an endpoint


class Server:
    """An OpenAI-compatible server: right where the statement has an even number, else wrong; it remembers prompts."""

    def __init__(self) -> None:
        self.asked = list[tuple[str, dict[str, Any]]]()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.asked.append((self.path, body))
                answer = json.dumps(server.answer(self.path, body)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 5, "completion_tokens": 7}
        if path.endswith("/chat/completions"):
            even = int(body["messages"][0]["content"].split("Task ")[1].split(":")[0]) % 2 == 0
            said: dict[str, Any] = {"message": {"role": "assistant", "content": _block(RIGHT if even else WRONG)}}
        else:
            said = {"text": "  return a + 1\nend"}
        return {"choices": [{"index": 0, "finish_reason": "stop", **said}], "usage": usage}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_a_model_behind_an_endpoint_is_asked_without_the_languages_prompt(
    evaluate: Agn, server: Server, tmp_path: Path
) -> None:
    tasks = _tasks(tmp_path, 4)
    with tasks.open("a") as file:
        prompt_format = {"language": "lua", "tests": "if add(1) ~= 2 then os.exit(1) end", "stop": ["\n--"]}
        continued = {
            "id": "4",
            "statement": "function add(a)\n",
            "tests": [{"input": "", "output": ""}],
            "split": "test",
        }
        file.write(json.dumps({**continued, "prompt_format": prompt_format, "compare": {"mode": "nothing"}}) + "\n")
    words = ("--endpoint", server.url, "--model", "wise", "--dataset", str(tasks), "--samples", "3")
    answer = evaluate(*words, "--json")
    assert answer.returncode == 0, answer.stderr
    (found,) = answer.json["evaluations"]
    assert (found["model"], found["rates"]["pass@1"]["rate"]) == ("wise", pytest.approx(3 / 5))
    chats = [body for path, body in server.asked if path == "/v1/chat/completions"]
    assert {chat["messages"][0]["content"] for chat in chats} == {
        f"Write a program in lua.\n\nTask {n}: add 1." for n in range(4)
    }
    assert {(chat["model"], chat["temperature"], chat["max_tokens"]) for chat in chats} == {("wise", 0.2, 1024)}
    texts = [body for path, body in server.asked if path == "/v1/completions"]
    assert [(body["prompt"], body["stop"]) for body in texts] == [("function add(a)\n", ["\n--"])] * 3
    assert _query(tmp_path, "select distinct tokens from completion") == [(7,)]


class WritesTests(Server):
    """A server that writes a right test when it is asked for tests, else two wrong programs for each right one."""

    programs = 0

    def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = super().answer(path, body)
        if body["messages"][0]["content"].startswith(REQUEST):
            text = "A test:\n```input\n7\n```\n```output\n8\n```"
        else:
            self.programs += 1
            text = _block(RIGHT if self.programs % 3 == 0 else WRONG)
        answer["choices"][0]["message"]["content"] = text
        return answer


def test_the_best_of_k_is_chosen_by_tests_that_the_model_wrote(evaluate: Agn, tmp_path: Path) -> None:
    with closing(WritesTests()) as server:
        words = ("--endpoint", server.url, "--model", "wise", "--dataset", str(_tasks(tmp_path, 3)), "--samples", "3")
        settings = ("--set", "max_concurrency=1", "--set", "generated_tests=2")
        answer = evaluate(*words, *settings, "--vote", "--k", "3", "--json")
        assert answer.returncode == 0, answer.stderr
        asked = len(server.asked)
        resumed = evaluate("--resume", "last", "--k", "3", "--json")
    assert asked == len(server.asked) == 3 * (3 + 2)
    assert all("the model has written tests for 3 tasks\n" in told.stderr for told in (answer, resumed))
    for (found,) in (answer.json["evaluations"], resumed.json["evaluations"]):
        rates = {name: rate["rate"] for name, rate in found["rates"].items()}
        assert rates == pytest.approx(
            {"pass@1": 1 / 3, "pass@3": 1.0, "majority@3": 0.0, "short-3@3": 0.0, "best@3": 1}
        )
        assert found["programs"] == 9
    written = "select task, verdict, tests_total from verifications where phase = 'eval_generated_tests' order by 1, 2"
    assert _query(tmp_path, written) == [(task, v, 1) for task in "012" for v in ("accepted", "wrong_answer")]


# With a model of this machine


@pytest.mark.slow
def test_models_are_evaluated_and_compared_in_one_command(
    evaluate: Agn, starter_model: Path, tiny_model: Callable[..., Path], tmp_path: Path
) -> None:
    untrained = tiny_model(tied=False)
    run = tmp_path / "run" / "checkpoints" / "step-000002"
    run.parent.mkdir(parents=True)
    run.symlink_to(starter_model)
    words = ("--model", str(untrained), "--model", str(tmp_path / "run"), "--tasks", "6", "--samples", "3")
    settings = ("--set", "engine=transformers", "--set", "max_completion_tokens=96", "--set", "max_num_seqs=8")
    answer = evaluate(
        *words, *settings, "--language-prompt", "--temperature", "0.2", "--k", "1,3", "--plot", "chart.png", "--json"
    )
    assert answer.returncode == 0, answer.stderr
    before, after = answer.json["evaluations"]
    (difference,) = answer.json["differences"]
    assert (before["programs"], after["programs"]) == (18, 18)
    assert (
        before["rates"]["pass@1"]["rate"] == 0.0 < after["rates"]["pass@1"]["rate"] <= after["rates"]["pass@3"]["rate"]
    )
    assert difference["mean"] == pytest.approx(after["rates"]["pass@1"]["rate"])
    assert (difference["run"], difference["baseline"], difference["tasks"]) == (after["run"], before["run"], 6)
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert _query(tmp_path, "select count(*) from verifications where completion = '' and tokens > 1") == [(0,)]


def test_what_cannot_be_measured_is_said_before_anything_is_sampled(evaluate: Agn, tmp_path: Path) -> None:
    tasks = str(_tasks(tmp_path, 1))
    for words, complaint in {
        ("--k", "30"): "pass@30 needs --samples 30 or more, not 20",
        ("--k", "0"): "--k 0: expected numbers from 1",
        ("--endpoint", "http://localhost:1/v1"): "--endpoint needs --model",
        ("--endpoint", "http://localhost:1/v1", "--completions", "c.jsonl"): "exclude each other",
        ("--plot", "chart.pdf"): "name a file that ends in .png or .svg",
        ("--split", "tset"): "unknown split of jsonl 'tset'",
        ("--compare", "last"): "no run is stored here yet",
        ("--set", "generated_tests=3"): "generated_tests needs --vote",
        ("--set", "sample=3"): "did you mean 'samples'?",
        ("--resume", "last"): "--resume uses the evaluation's own settings",
    }.items():
        answer = evaluate("--dataset", tasks, *words)
        assert (answer.returncode, answer.stdout) == (2, ""), words
        assert complaint in answer.stderr.splitlines()[-1]
    assert _query(tmp_path, "select count(*) from run") == [(0,)]


def test_episodes_behind_an_endpoint_are_measured_and_stored_with_their_turns(
    evaluate: Agn, tmp_path: Path, chat_server: Callable[[Callable[[str], str]], ChatServer]
) -> None:
    server = chat_server(lambda said: _block(RIGHT if "Expected output" in said else WRONG))
    tasks = _written(
        tmp_path / "tasks.jsonl",
        [
            {"id": str(n), "statement": "Add 1.", "split": "test"}
            | {"tests": [{"input": str(k), "output": str(k + 1)} for k in (1, 2, 3, 4)]}
            for n in range(2)
        ],
    )
    asked = ["--endpoint", server.url, "--model", "m", "--dataset", str(tasks), "--samples", "2", "--k", "1,2"]
    rates = {}
    for feedback in ("difference", "none"):
        options = ("--environment", "code-feedback", "--set", f"environment_options={{feedback='{feedback}'}}")
        answer = evaluate(*asked, *options, "--json")
        assert answer.returncode == 0, answer.stderr
        rates[feedback] = [rate["rate"] for rate in answer.json["evaluations"][0]["rates"].values()]
    assert rates == {"difference": [1.0, 1.0], "none": [0.0, 0.0]}
    turns = _query(tmp_path, "select verdict, turns, count(*) from episodes group by 1, 2 order by 1")
    assert turns == [("accepted", 2, 4), ("wrong_answer", 3, 4)]


def test_recorded_completions_have_no_environment(evaluate: Agn, tmp_path: Path) -> None:
    files = ("--dataset", str(_tasks(tmp_path, 1)), "--completions", str(_completions(tmp_path / "c.jsonl", {"0": []})))
    answer = evaluate(*files, "--environment", "code-feedback")
    assert answer.returncode == 2
    assert "recorded completions are single answers" in answer.stderr
