"""`agn languages advise` with models that run: behind vLLM's server, and sampled from now."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import preloaded
import pytest
from agnostics import cli
from agnostics.plugins.manager import load_plugins
from agnostics.store import CompletionRecord, Store
from agnostics.types.language import Language
from agnostics.types.verification import Verdict
from chat_server import ChatServer
from command_line import Agn, Answer

pytestmark = pytest.mark.slow

AGN = [sys.executable, "-m", "agnostics"]
KEY = "sk-very-secret"
NAMES = ("alpha", "beta", "gamma", "delta", "theta", "kappa", "sigma", "omega", "count", "total", "line", "word")
LEARNT = [f"Declare {name} as local first." for name in NAMES]
ADVICE = "\n".join(f"{i}. {sentence}" for i, sentence in enumerate(LEARNT, 1))


TAUGHT = ("--programs", "1", "--context", "1024", "--json", "--output", "advised.yaml")
"""The options of the consultation that the served model knows by heart."""


@pytest.fixture(scope="module")
def faulty(
    tmp_path_factory: pytest.TempPathFactory, lua: Language, record: Callable[..., CompletionRecord]
) -> tuple[str, ...]:
    """The options that name a run with faulty programs."""
    url = f"sqlite:///{tmp_path_factory.mktemp('faulty') / 'runs.db'}"
    with Store.open(url) as store:
        run = store.start_run(kind="train", config={}, language=lua, model="m", dataset="starter", seed=0)
        with store.recorder(run) as recorder:
            for number in range(40):
                recorder.completion(record(Verdict.RUNTIME_ERROR, sample=number, program=f"-- {number}\nprint(x + 1)"))
        store.finish_run(run, "finished", {})
    return ("--store", url, "--run", run)


@pytest.fixture
def advise(agn: Agn, faulty: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agn:
    """Runs `agn languages advise lua` on these programs in a folder of its own."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def call(*arguments: str, url: str) -> Answer:
        return agn("languages", "advise", "lua", *faulty, "--model", "starter", "--endpoint", url, *arguments)

    return call


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


SERVE = """
import multiprocessing, os, sys
from vllm.entrypoints.launchers.api_server.entry import main
from vllm.v1.engine import utils
os.setsid()
log = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT)
os.dup2(log, 1), os.dup2(log, 2)
utils.get_mp_context = lambda: multiprocessing.get_context("fork")  # its engine would import all anew on a CPU
main()
"""


@contextmanager
def _served(model: Path, log: Path) -> Iterator[str]:
    """The URL of vLLM's OpenAI-compatible server with `model`, called `starter`."""
    port = _free_port()
    quiet = {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    command = [
        *(sys.executable, "-c", SERVE, str(log), "--model", str(model), "--dtype", "float32"),
        *("--served-model-name", "starter", "--host", "127.0.0.1", "--port", str(port), "--enforce-eager"),
        *("--distributed-executor-backend", "uni"),
        *("--max-num-seqs", "4", "--api-key", KEY),
    ]
    process = preloaded.Popen(command, env={**os.environ, **quiet})
    try:
        _await_health(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(preloaded.TimeoutExpired):
            process.wait(timeout=30)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=30)


def _await_health(url: str, process: preloaded.Popen, log: Path, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail(f"vLLM's server does not answer:\n{log.read_text(errors='replace')[-3000:] if log.exists() else ''}")


@pytest.fixture(scope="module")
def vllm_server(
    starter_model: Path, faulty: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Serves the starter model after it has learnt one consultation by heart; all others it answers with anything."""
    pytest.importorskip("vllm")
    folder = tmp_path_factory.mktemp("vllm")
    with pytest.MonkeyPatch.context() as patch, closing(ChatServer(lambda _: ADVICE)) as server:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setenv("OPENAI_API_KEY", KEY)
        options = (*faulty, "--model", "starter", "--endpoint", server.url, *TAUGHT)
        assert cli.call(["languages", "advise", "lua", *options]) == 0
    (prompt,) = server.asked
    _teach(starter_model, prompt, ADVICE, folder)
    with _served(folder / "taught", folder / "server.log") as url:
        yield url


@pytest.mark.parametrize("context", ["1280", "1024"])
def test_a_real_server_is_consulted_to_the_end_and_only_sentences_are_kept(
    vllm_server: str, advise: Agn, context: str
) -> None:
    """Most of what the model says about other programs is no advice, and then nothing may be written."""
    answer = advise("--context", context, "--json", url=vllm_server)
    told = answer.json
    assert told["requests"] >= 2
    assert told["prompt_tokens"] > 300 * told["requests"]
    assert told["completion_tokens"] >= told["requests"]
    assert f"cost: {told['requests']} requests, {told['prompt_tokens']} prompt tokens" in answer.stderr
    written = list(Path().iterdir())
    if told["sentences"]:
        assert (answer.returncode, written) == (0, [Path("lua-advised.yaml")])
        assert _advice_in("lua-advised.yaml") == told["sentences"]
    else:
        assert (answer.returncode, written) == (1, [])
        assert "no usable advice from 'starter'" in answer.complaint


def test_what_a_real_server_advises_is_written_into_the_language(vllm_server: str, advise: Agn) -> None:
    answer = advise(*TAUGHT, url=vllm_server)
    assert answer.returncode == 0, answer.stderr
    told = answer.json
    assert told["sentences"] == LEARNT
    assert _advice_in("advised.yaml") == LEARNT
    assert told["completion_tokens"] > 100


def _advice_in(path: str) -> list[str]:
    return [line[2:] for line in load_plugins().language(path).prompt.splitlines() if line.startswith("- ")]


def _teach(model: Path, prompt: str, completion: str, folder: Path) -> None:
    """Write `model`, after it has learnt to complete `prompt` with `completion`, into `folder / "taught"`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, pupil = AutoTokenizer.from_pretrained(model), AutoModelForCausalLM.from_pretrained(model)
    messages = [{"role": "user", "content": prompt}]
    prompt_ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    completion_ids = [*tokenizer.encode(completion, add_special_tokens=False), tokenizer.eos_token_id]
    optimizer = torch.optim.Adam(pupil.parameters(), lr=3e-3, betas=(0.8, 0.9))
    tokens = torch.tensor([[*prompt_ids, *completion_ids]])
    for _ in range(300):
        logits = pupil(input_ids=tokens, logits_to_keep=len(completion_ids) + 1).logits[0, :-1]
        losses = torch.nn.functional.cross_entropy(logits, tokens[0, len(prompt_ids) :], reduction="none")
        if losses.max() < 0.5:  # each token is the likeliest by far
            break
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
    pupil.generation_config.update(do_sample=True, top_k=1)  # the server samples as this says
    pupil.save_pretrained(folder / "taught")
    tokenizer.save_pretrained(folder / "taught")


def test_a_real_server_says_what_is_wrong_with_a_request(
    vllm_server: str, advise: Agn, monkeypatch: pytest.MonkeyPatch
) -> None:
    unknown = advise("--model", "nobody", url=vllm_server)
    assert unknown.returncode == 2
    assert "refused with 404" in unknown.complaint
    long = advise("--context", "32000", url=vllm_server)
    assert long.returncode == 2
    assert "refused with 400" in long.complaint
    assert "lower --context" in long.complaint
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    assert "refused with 401" in advise(url=vllm_server).complaint


@pytest.mark.parametrize("engine", ["transformers", "vllm"])
def test_faulty_programs_can_be_sampled_now(
    engine: str, starter_model: Path, chat_server: Callable[..., Any], tmp_path: Path
) -> None:
    server = chat_server(lambda _: ADVICE)
    options = ["--model", "wise", "--endpoint", server.url, "--sample", str(starter_model), "--dataset", "starter"]
    command = [*AGN, "languages", "advise", "lua", *options, "--tasks", "6", "--engine", engine, "--json"]
    answer = preloaded.run(
        [*command, "--sandbox", "bubblewrap"], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    told = json.loads(answer.stdout.splitlines()[-1])
    assert 0 < sum(told["programs"].values()) <= 24
    assert told["sentences"] == LEARNT
    assert "sampling 24 programs" in answer.stderr
    shown = server.asked[0]
    assert all(shown.count(f": {verdict}]") == count for verdict, count in told["programs"].items())
    assert Language.from_yaml(tmp_path / "lua-advised.yaml").prompt.endswith(LEARNT[-1])
