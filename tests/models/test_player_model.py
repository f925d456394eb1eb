"""A model of this machine behind the players of agent sessions: an engine answers the requests of three APIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest
from agent_session import BRAINFUCK, echo_task
from agnostics.gateway.conversation import ChatMessage, FunctionCall, FunctionTool, ModelReply, ModelRequest
from agnostics.gateway.recording import ModelCall
from agnostics.gateway.server import Gateway, listen_on_loopback
from agnostics.inference.engine import Completion, CompletionRequest, EngineSettings, SamplingParams
from agnostics.inference.openai_client import ContextExceeded
from agnostics.inference.transformers import TransformersEngine
from agnostics.models import gguf
from agnostics.models.loading import load_tokenizer, stop_ids
from agnostics.models.player_model import cached_tokens
from agnostics.players.agent import Agent, AgentCommand, Invocation
from agnostics.players.bare import BareModel
from agnostics.players.model_player import ModelPlayer
from agnostics.players.session_runner import play_session
from agnostics.profiling.spans import SpanRecorder
from agnostics.referee.problem import Problem
from agnostics.referee.protocol import Protocol
from agnostics.referee.session_rows import create_session
from agnostics.rollout.conversation import ConversationRenderer
from agnostics.rollout.engine_backend import EngineBackend
from agnostics.rollout.engine_loop import EngineLoop
from agnostics.rollout.prompts import ConversationSettings
from agnostics.sandbox.slot_options import Mount
from agnostics.store import schema
from agnostics.store.database import reading
from agnostics.store.store import Store
from agnostics.types.errors import AgnosticsError, UsageError
from agnostics.types.rollout import FinishReason
from agnostics.verify import Verifier
from command_line import Agn
from model_families import FAMILIES, save_tokenizer
from sqlalchemy import select

pytestmark = pytest.mark.slow

ASK = (ChatMessage("user", "List the files."),)
BASH = FunctionTool("bash", "Runs a command.", {"type": "object", "properties": {"command": {"type": "string"}}})
CALL = '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'
CONTEXT = 2000


@dataclass
class Speaking:
    """An engine that says what it is told to, token by token at once, and keeps what it was asked."""

    tokenizer: Any
    texts: list[str]
    end: int
    version: int = 0
    asked: list[tuple[CompletionRequest, SamplingParams]] = field(default_factory=list)
    _waiting: list[tuple[int, Completion]] = field(default_factory=list)

    @property
    def has_unfinished_requests(self) -> bool:
        return bool(self._waiting)

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        self.asked.append((request, params))
        said = (*self.tokenizer(self.texts.pop(0), add_special_tokens=False).input_ids, self.end)
        ids = said[: params.max_completion_tokens]
        reason: FinishReason = "stop" if len(ids) == len(said) else "length"
        zeros = (0,) * len(ids)
        self._waiting.append((request_id, Completion(ids, tuple(map(float, zeros)), reason, zeros)))

    def step(self) -> list[tuple[int, Completion]]:
        done, self._waiting = self._waiting, []
        return done

    def abort_all(self) -> None:
        self._waiting.clear()

    def load_weights(self, weights: Iterable[Any], version: int) -> None:
        raise NotImplementedError

    def set_num_threads(self, count: int) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None: ...


@dataclass
class Spoken:
    """A model that says certain texts."""

    engine: Speaking
    backend: EngineBackend

    def ask(self, *messages: ChatMessage, **options: Any) -> ModelReply:
        return self.backend.complete(ModelRequest(messages, **{"max_tokens": 500, **options}))

    @property
    def prompts(self) -> list[str]:
        """The prompts of the engine so far, as text."""
        return [self.engine.tokenizer.decode(request.prompt_ids) for request, _ in self.engine.asked]


@pytest.fixture(scope="module")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tokenizer of a small Qwen 3, with the real chat template."""
    folder = tmp_path_factory.mktemp("qwen")
    ids = save_tokenizer(FAMILIES["qwen3"], folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "eos_token_id": ids["<|im_end|>"]}))
    return folder


@contextmanager
def speaking(folder: Path, *texts: str, template: str | None = None, context: int = CONTEXT) -> Iterator[Spoken]:
    tokenizer = load_tokenizer(folder)
    tokenizer.chat_template = template or tokenizer.chat_template
    engine = Speaking(tokenizer, list(texts), tokenizer.convert_tokens_to_ids("<|im_end|>"))
    renderer = ConversationRenderer(tokenizer, ConversationSettings(), stop_ids(folder, tokenizer))
    with EngineLoop(engine, SpanRecorder()) as loop:
        yield Spoken(engine, EngineBackend("spoken", loop, renderer, context, temperature=0.8))


def test_a_call_in_the_form_of_the_template_is_a_function_call(qwen: Path) -> None:
    with speaking(qwen, f"Let me see.\n{CALL}") as model:
        reply = model.ask(*ASK, tools=(BASH,))
    (call,) = reply.calls
    assert (reply.text, call.name, json.loads(call.arguments)) == ("Let me see.", "bash", {"command": "ls"})
    assert reply.finish_reason == "tool_calls"
    ((asked, _),) = model.engine.asked
    assert reply.prompt_tokens == len(asked.prompt_ids)
    assert '<tools>\n{"type": "function", "function": {"name": "bash"' in model.prompts[0]


def test_arguments_of_any_type_reach_the_client(qwen: Path) -> None:
    arguments = {"command": ["bash", "-lc", "ls ñ"], "timeout": 120, "share": 0.5, "env": {"A": None}, "wait": True}
    with speaking(qwen, f"<tool_call>\n{json.dumps({'name': 'shell', 'arguments': arguments})}\n</tool_call>") as model:
        (call,) = model.ask(*ASK, tools=(BASH,)).calls
    assert (call.name, json.loads(call.arguments)) == ("shell", arguments)


def test_an_engine_that_fails_is_an_error_of_the_model(qwen: Path) -> None:
    with speaking(qwen) as model:
        with pytest.raises(AgnosticsError, match=r"the model spoken failed: .*pop from empty list"):
            model.ask(*ASK)
        model.engine.texts.append("Yes.")
        assert model.ask(*ASK).text == "Yes."


def test_what_is_no_call_is_text(qwen: Path) -> None:
    malformed = '<tool_call>\n{"name": "bash", "arguments": {"command": \n</tool_call>'
    with speaking(qwen, malformed, CALL) as model:
        reply = model.ask(*ASK, tools=(BASH,))
        assert (reply.text, reply.calls, reply.finish_reason) == (malformed, (), "stop")
        assert not model.ask(*ASK, tools=(BASH,), tool_choice="none").calls
    assert "<tools>" in model.prompts[0]
    assert "<tools>" not in model.prompts[1]


def test_a_conversation_is_continued_from_the_tokens_that_were_sampled(qwen: Path) -> None:
    spaced = CALL.replace(": ", ":  ")
    with speaking(qwen, f"<think>I could.</think>\n\n{spaced}\n{CALL}", "Done.") as model:
        reply = model.ask(*ASK, tools=(BASH,))
        results = [
            ChatMessage("tool", f"a<|im_end|>{number}", call_id=call.id) for number, call in enumerate(reply.calls)
        ]
        # The client writes the arguments in its own way, and the ids.
        calls = tuple(FunctionCall("x", call.name, ' {"command":"ls"}') for call in reply.calls)
        model.ask(*ASK, replace(reply.message, calls=calls), *results, tools=(BASH,))
    (first, _), (second, _) = model.engine.asked
    assert first.may_be_continued
    sampled = model.engine.tokenizer(f"<think>I could.</think>\n\n{spaced}\n{CALL}<|im_end|>").input_ids
    assert second.prompt_ids[: len(first.prompt_ids) + len(sampled)] == (*first.prompt_ids, *sampled)
    rest = second.prompt_ids[len(first.prompt_ids) + len(sampled) :]
    assert model.engine.tokenizer.decode(rest) == (
        "\n<|im_start|>user\n<tool_response>\na<|im_end|>0\n</tool_response>\n<tool_response>\na<|im_end|>1\n"
        "</tool_response><|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert rest.count(model.engine.end) == 1, "an end of turn in the output of a tool is no token of that kind"


def test_a_conversation_that_is_not_remembered_is_rendered_whole(qwen: Path) -> None:
    call = FunctionCall("c", "bash", '{"command": "ls"}')
    before = (ChatMessage("system", "Be brief."), *ASK, ChatMessage("assistant", "I look.", (call,)))
    with speaking(qwen, "Done.") as model:
        model.ask(*before, ChatMessage("tool", "a.txt", call_id="c"), tools=(BASH,))
    assert "Be brief." in model.prompts[0]
    assert f"I look.\n{CALL}<|im_end|>" in model.prompts[0]
    assert "<tool_response>\na.txt\n</tool_response>" in model.prompts[0]


PLAIN = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_a_template_without_tools_has_them_in_the_system_prompt(qwen: Path) -> None:
    with speaking(qwen, CALL, "Done.", template=PLAIN) as model:
        reply = model.ask(ChatMessage("system", "Be brief."), *ASK, tools=(BASH,))
        call = replace(reply.calls[0], id="other")
        model.ask(*ASK, ChatMessage("assistant", "", (call,)), ChatMessage("tool", "a.txt"), tools=(BASH,))
    assert model.prompts[0].startswith("<|im_start|>system\nBe brief.\n\n# Tools\n\n")
    assert '"name": "bash"' in model.prompts[0]
    assert model.prompts[1].startswith("<|im_start|>system\n# Tools\n\n")
    assert f"<|im_start|>assistant\n{CALL}<|im_end|>\n<|im_start|>tool\na.txt" in model.prompts[1]


def test_a_template_that_refuses_a_conversation_is_an_error_on_one_line(qwen: Path) -> None:
    refusing = "{{ raise_exception('roles must alternate') }}tools"
    with speaking(qwen, template=refusing) as model, pytest.raises(UsageError, match=r"refuses .*roles must alternate"):
        model.ask(*ASK)


def test_a_reply_has_the_room_that_the_context_leaves(qwen: Path) -> None:
    with speaking(qwen, "x " * 100, "x " * 100) as model:
        size = model.ask(*ASK, max_tokens=7).prompt_tokens
        assert model.engine.asked[0][1].max_completion_tokens == 7
    with speaking(qwen, "x " * 100, context=size + 5) as model:
        reply = model.ask(*ASK)
        assert (reply.completion_tokens, reply.finish_reason) == (5, "length")
    with speaking(qwen, context=size) as model, pytest.raises(ContextExceeded, match=f"{size} tokens"):
        model.ask(*ASK)


def test_temperature_and_seed_are_those_of_the_request(qwen: Path) -> None:
    with speaking(qwen, *["."] * 6) as model:
        for temperature in (None, 0.3, 0.0):
            model.ask(*ASK, temperature=temperature)
        for seed in (5, 5, 6):
            model.ask(*ASK, seed=seed)
    assert [params.temperature for _, params in model.engine.asked][:3] == [0.8, 0.3, 1e-4]
    seeds = [request.seed for request, _ in model.engine.asked]
    assert seeds[3] == seeds[4] != seeds[5]
    assert len(set(seeds)) == 5, "requests without a seed have seeds of their own"


# A real model.


@dataclass
class Counting(TransformersEngine):
    """The engine, which keeps the number of tokens of each prompt and of its completion, and those it had cached."""

    def __init__(self, settings: EngineSettings) -> None:
        super().__init__(settings)
        self.prompts = dict[int, int]()
        self.tokens = list[tuple[int, int]]()
        self.cached = list[int]()

    def add_request(self, request_id: int, request: CompletionRequest, params: SamplingParams) -> None:
        self.prompts[request_id] = len(request.prompt_ids)
        super().add_request(request_id, request, params)

    def step(self) -> list[tuple[int, Completion]]:
        finished = super().step()
        for request_id, completion in finished:
            self.tokens.append((self.prompts[request_id], len(completion.token_ids)))
            self.cached.append(completion.num_cached_tokens)
        return finished


@dataclass
class Rows:
    """The recorded calls."""

    calls: list[ModelCall] = field(default_factory=list)

    def record(self, call: ModelCall) -> None:
        self.calls.append(call)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache of this file's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def real(smollm: Path) -> Iterator[tuple[Counting, EngineBackend]]:
    """SmolLM2-135M-Instruct in the engine transformers."""
    folder = gguf.convert(smollm)
    tokenizer = load_tokenizer(folder)
    stops = stop_ids(folder, tokenizer)
    renderer = ConversationRenderer(tokenizer, ConversationSettings(), stops)
    with (
        Counting(EngineSettings(folder, stops, max_length=4096, max_num_seqs=4, dtype="bfloat16")) as engine,
        EngineLoop(engine, SpanRecorder()) as loop,
    ):
        yield engine, EngineBackend("smollm", loop, renderer, 4096)


TOOL = {"name": "bash", "description": "Runs a command.", "parameters": dict(BASH.parameters)}
REQUESTS: dict[str, tuple[str, Callable[[str], dict[str, Any]], Callable[[Any], tuple[str, int, int]]]] = {
    "chat": (
        "chat/completions",
        lambda text: {
            "messages": [{"role": "user", "content": text}],
            "tools": [{"type": "function", "function": TOOL}],
        },
        lambda body: (
            body["choices"][0]["message"]["content"],
            body["usage"]["prompt_tokens"],
            body["usage"]["completion_tokens"],
        ),
    ),
    "responses": (
        "responses",
        lambda text: {"input": text, "tools": [{"type": "function", **TOOL}]},
        lambda body: (
            body["output"][0]["content"][0]["text"],
            body["usage"]["input_tokens"],
            body["usage"]["output_tokens"],
        ),
    ),
    "messages": (
        "messages",
        lambda text: {
            "messages": [{"role": "user", "content": text}],
            "max_tokens": 12,
            "tools": [{"name": "bash", "input_schema": TOOL["parameters"]}],
        },
        lambda body: (body["content"][0]["text"], body["usage"]["input_tokens"], body["usage"]["output_tokens"]),
    ),
}


@pytest.mark.parametrize("api", REQUESTS)
def test_the_engine_answers_each_api_with_its_own_counts(real: tuple[Counting, EngineBackend], api: str) -> None:
    engine, backend = real
    path, request, read = REQUESTS[api]
    rows = Rows()
    with Gateway(backend, rows, listen_on_loopback()) as gateway:
        body = {"model": "any", "temperature": 0, **request("What is the capital of France? Answer in a word.")}
        limit = {"chat": "max_tokens", "responses": "max_output_tokens", "messages": "max_tokens"}[api]
        answer = httpx2.post(
            f"{gateway.url}/v1/{path}",
            json={**body, limit: 12},
            headers={"authorization": f"Bearer {gateway.key}"},
            timeout=300,
        )
    assert answer.status_code == 200, answer.text
    text, *counts = read(answer.json())
    assert text
    assert tuple(counts) == engine.tokens[-1]
    assert [(row.prompt_tokens, row.completion_tokens) for row in rows.calls] == [engine.tokens[-1]]


def play(player: ModelPlayer, backend: EngineBackend, folder: Path) -> list[Any]:
    """The rows of the calls in a session of one problem."""
    with (
        Store.open(f"sqlite:///{folder}/results.db") as store,
        Verifier("bubblewrap", 1, languages={"brainfuck": BRAINFUCK}) as verifier,
    ):
        create_session(
            store,
            "small",
            problems=[Problem(echo_task("one"))],
            protocol=Protocol(name="p", output_tokens=24),
            language="brainfuck",
            dataset="test",
            player=player.name,
        )
        play_session(store, "small", player, BRAINFUCK, verifier, backend=backend, sandbox="bubblewrap")
        with reading(store.engine) as connection:
            return list(connection.execute(select(schema.model_call)))


def test_a_session_of_a_real_model_has_a_row_of_each_call_with_the_counts_of_the_engine(
    real: tuple[Counting, EngineBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    engine, backend = real
    before = len(engine.tokens)
    rows = play(BareModel(model="smollm", temperature=0.5, turns=3), backend, tmp_path)
    assert [(row.prompt_tokens, row.completion_tokens) for row in rows] == engine.tokens[before:]
    assert len(rows) == 3
    assert {row.model for row in rows} == {"smollm"}
    reused, earlier = engine.cached[before + 1 :], engine.tokens[before:-1]
    assert all(cached >= sum(tokens) - 1 for cached, tokens in zip(reused, earlier, strict=True))


ASKING = """\
import json, os, urllib.request
body = {"model": "any", "max_tokens": 5, "messages": [{"role": "user", "content": "Say hello."}]}
headers = {"x-api-key": os.environ["KEY"], "content-type": "application/json"}
request = urllib.request.Request(os.environ["URL"] + "/v1/messages", json.dumps(body).encode(), headers)
urllib.request.urlopen(request, timeout=100).read()
"""


@dataclass
class Asking(Agent):
    """An agent that asks its model once, and keeps what it was told of it."""

    told: int = 0

    name = "asking"
    description = "A script."
    agent_language = None

    def command(self, invocation: Invocation) -> AgentCommand:
        self.told = invocation.context_tokens
        environment = {"URL": invocation.url, "KEY": invocation.key}
        return AgentCommand(["python3", "asking.py"], environment, {"asking.py": ASKING})

    def mounts(self) -> Sequence[Mount]:
        return ()


def test_an_agent_in_the_box_asks_the_engine_and_is_told_how_much_it_holds(
    real: tuple[Counting, EngineBackend], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    engine, backend = real
    agent = Asking(model="smollm")
    (row,) = play(agent, backend, tmp_path)
    assert (row.api, row.status, row.prompt_tokens, row.completion_tokens) == ("messages", 200, *engine.tokens[-1])
    assert agent.told == 4096


@pytest.mark.parametrize(
    ("options", "tokens"),
    [({}, 1280), ({"dtype": "bfloat16"}, 2688), ({"kv_cache_gib": 3}, 4096)],
)
def test_a_conversation_is_no_longer_than_what_the_memory_for_keys_and_values_holds(
    options: dict[str, Any], tokens: int, tmp_path: Path
) -> None:
    sizes = {"num_hidden_layers": 24, "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128}
    (tmp_path / "config.json").write_text(json.dumps({**FAMILIES["qwen3"].config, **sizes, "vocab_size": 300}))
    assert cached_tokens(BareModel(model="any", **options), tmp_path) == tokens


def session(agn: Agn, folder: Path, model: str, *options: str) -> Any:
    task = {"split": "test", "id": "echo", "statement": "Print the input.", "tests": [{"input": "a", "output": "a"}]}
    (folder / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    (folder / "short.yaml").write_text("output_tokens: 16\n")
    return agn(
        *("session", "run", "--language", "brainfuck", "--player", "bare", "--dataset", str(folder / "tasks.jsonl")),
        *("--protocol", str(folder / "short.yaml"), "--sandbox", "bubblewrap", "--name", "mine"),
        *("--store", f"sqlite:///{folder}/results.db", "--set", f"model={model}", *options),
    )


def test_the_command_plays_with_a_gguf_file_and_names_the_model_after_it(
    smollm: Path, agn: Agn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    answer = session(agn, tmp_path, str(smollm), *_set("engine=transformers", "dtype=bfloat16", "turns=1", "seed=3"))
    assert answer.returncode == 0, answer.stderr
    assert "into transformers, for conversations of up to 8192 tokens" in answer.stderr
    assert "mine: 0 of 1 problem solved; the player stopped before the end" in answer.stdout
    with Store.open(f"sqlite:///{tmp_path}/results.db") as store, reading(store.engine) as connection:
        (row,) = connection.execute(select(schema.model_call.c.model, schema.model_call.c.completion_tokens)).all()
        assert connection.scalar(select(schema.agent_session.c.model)) == "SmolLM2-135M-Instruct.Q4_1"
    assert row.model == "SmolLM2-135M-Instruct.Q4_1"
    assert 1 <= row.completion_tokens <= 16


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        ("./no-such-model", (), "unknown model"),
        ("broken.gguf", (), "not a readable GGUF file"),
        ("broken.gguf", ("engine=vlm",), "unknown engine 'vlm'"),
    ],
)
def test_a_model_that_cannot_be_read_is_one_line_and_no_session(
    agn: Agn, tmp_path: Path, model: str, options: Sequence[str], reason: str
) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(20))
    name = str(tmp_path / model) if model.endswith(".gguf") else model
    answer = session(agn, tmp_path, name, *_set(*(options or ("engine=transformers",))))
    assert answer.returncode != 0
    assert reason in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    status = agn("session", "status", "--store", f"sqlite:///{tmp_path}/results.db")
    assert "mine" not in status.stdout


def _set(*options: str) -> list[str]:
    return [word for option in options for word in ("--set", option)]
