"""Real parts for the tests: databases (SQLite files, and a PostgreSQL server of our own), models and sandboxes."""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from agnostics import cli
from agnostics.store import CompletionRecord
from agnostics.store.records import TurnRecord, VersionSpan
from agnostics.types.errors import MissingRequirement
from agnostics.types.language import Language
from agnostics.types.rollout import ToolCallRecord
from agnostics.types.task import Task, Test
from agnostics.types.verification import TestResult, Verdict, Verification
from agnostics.util.imports import without_garbage_collection
from agnostics.util.paths import cache_folder
from agnostics.verify import Verifier
from agnostics_benchmarks.postgres import postgres_server as bench_server
from chat_server import ChatServer
from command_line import Agn, Answer
from distributions import (  # noqa: F401  # fixtures
    built_wheels,
    distributions,
    environment_with,
    wheels_environment,
)
from episodes import lua_verifier, play  # noqa: F401  # fixtures
from hypothesis import settings
from msgspec.structs import replace

settings.register_profile("fixed seed", derandomize=True, deadline=None)
settings.load_profile("fixed seed")


def pytest_configure() -> None:
    """Let Ctrl-C through: what a script starts in the background ignores it, and so would all that the tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


LONG = (
    "test_run_command",
    *("test_frameworks", "test_processes", "test_math_checker", "test_fork_server", "test_referee"),
    *("test_launch", "test_engine_faults", "test_ranks", "test_session_command", "test_served_adapter", "test_packs"),
    *("test_environment_runs", "test_players", "test_player_model", "test_complexity", "test_rollout_engines"),
    *("test_cluster", "test_run_overlap", "test_tutorial", "test_bench_train", "test_sessions", "test_train_policy"),
    *("test_bench", "test_gguf", "test_third_party_pack", "test_advise", "test_memory", "test_lora", "test_files"),
    *("test_data_parallel", "test_languages_advise", "test_run_algorithms", "test_tools"),
    *("test_mixture_of_experts", "test_traces_command", "test_plugins", "test_box", "test_session_runner"),
    *("test_trl_example", "test_docker_images", "test_compilers", "test_verify_service", "test_verify_faults"),
    *("test_trl_agreement", "test_verify_verdicts", "test_streams", "test_escape", "test_results_browser"),
    *("test_eval_command", "test_trace_runs", "test_sandbox_faults", "test_trace_prediction", "test_release"),
    *("test_run_rewards", "test_results_cli", "test_results_pages", "test_verify_command", "test_store_reconnects"),
    *("test_store_survival", "test_wheels", "test_cli_startup", "test_model_families", "test_episode_tokens"),
)
"""Files that take a quarter of a minute or more, in the order in which they begin: the one that makes the starter
model, the longest of those that need no model, so that none waits for it, and then a file that computes and one that
mostly waits in turn, the longest first, so that no processor is idle and none is wanted by three."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests, and torch with them, in half the time; what an engine collects as it starts is then little."""
    with without_garbage_collection():
        return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest: with several workers, none is then left to one of them at the end."""
    place = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The folder of the socket of a PostgreSQL server."""
    try:
        with bench_server() as server:
            yield str(server.folder)
    except MissingRequirement as error:
        pytest.skip(str(error))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the unit tests start a PostgreSQL server, and others install gigabytes, only if they are asked to."""
    parser.addoption("--postgres", action="store_true", help="run the unit tests of the store on PostgreSQL, too")
    parser.addoption("--agents", action="store_true", help="install every coding agent and let it play, too")
    parser.addoption("--slowness", type=float, default=1.0, help="what the time limits of attacks are multiplied with")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what needs a database on each kind of database, the unit tests on SQLite alone unless asked to."""
    if "databases" in metafunc.fixturenames:
        alone = metafunc.definition.path.parent.name == "unit" and not metafunc.config.getoption("postgres")
        metafunc.parametrize("databases", ["sqlite"] if alone else ["sqlite", "postgres"], indirect=True)


@pytest.fixture(scope="module")
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes URLs of databases that are not there yet (SQLite), or of empty schemas (Postgres)."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path_factory.mktemp('store') / 'new' / 'results.db'}"
    folder = request.getfixturevalue("postgres_server")

    def schema() -> str:
        import psycopg

        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(f"host={folder} user=agn dbname=postgres", autocommit=True) as connection:
            connection.execute(f"create schema {name}".encode())
        return f"postgresql://agn@/postgres?host={folder}&options=-csearch_path%3D{name}"

    return schema


@pytest.fixture
def database(databases: Callable[[], str]) -> str:
    """The URL of a database that is not there yet (SQLite), or an empty schema (Postgres)."""
    return databases()


@pytest.fixture
def agn(capsys: pytest.CaptureFixture[str]) -> Agn:
    """Runs one command line of `agn` in this process."""

    def call(*arguments: str) -> Answer:
        capsys.readouterr()
        return Answer(cli.call([*arguments]), *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def lua() -> Language:
    return Language(name="lua", prompt="Write Lua.", filename="main.lua", execute="luajit main.lua")


def _record(
    verdict: Verdict = Verdict.ACCEPTED,
    *,
    step: int = 1,
    phase: Any = "train",
    task: str = "starter/1",
    family: str | None = "sum",
    sample: int = 0,
    program: str | None = "print(2)",
    reward: float | None = None,
) -> CompletionRecord:
    judged = None if verdict is Verdict.NO_PROGRAM else program
    tests = () if judged is None else (TestResult(verdict, 1.5, 1.0, 3.0, 0, None, "2\n", ""),)
    return CompletionRecord(
        step=step,
        phase=phase,
        task=Task(id=task, statement="Add.", family=family, tests=(Test(input="1 1", output="2"),)),
        sample=sample,
        text=f"```lua\n{program}\n```",
        tokens=9,
        finish_reason="stop",
        policy_version=step - 1,
        verification=Verification(task, "lua", judged, verdict, tests, None, "bubblewrap", 1, 2.0),
        reward=reward,
    )


@pytest.fixture(scope="session")
def record() -> Callable[..., CompletionRecord]:
    """Makes the record of one completion; whatever is not said is ordinary."""
    return _record


def _episode(
    verdict: Verdict = Verdict.ACCEPTED, *, hostile: str = "", failed: bool = True, **rest: Any
) -> CompletionRecord:
    """Two turns, each with `hostile` in all of its texts; the first calls a tool twice, the second call `failed`."""
    calls = tuple(
        ToolCallRecord(tool=f"shell{hostile}", arguments={f"command{hostile}": hostile}, output=hostile, ok=ok)
        for ok in (True, not failed)
    )
    observation = f"Wrong.{hostile}"
    told = TurnRecord(hostile, 4, "stop", observation, 3, "wrong_answer", 0.25, calls, 1500.0, 20.0)
    last = _record(verdict, **rest)
    turns = (told, TurnRecord(last.text, 5, "length", None, 0, None, None, (), 2500.0, 0.0))
    return replace(last, turns=turns, version_spans=(VersionSpan(0, 6, 1), VersionSpan(6, 3, 2)))


@pytest.fixture(scope="session")
def episode() -> Callable[..., CompletionRecord]:
    """Makes the record of an episode of two turns; whatever is not said is ordinary."""
    return _episode


Metrics = dict[tuple[int, str], float]


@pytest.fixture
def tensorboard_metrics() -> Callable[[Path], Metrics]:
    """Reads what TensorBoard shows of the event files in a folder, by step and name."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(folder: Path) -> Metrics:
        events = EventAccumulator(str(folder), size_guidance={"tensors": 0}).Reload()
        tensors = {name: events.Tensors(name) for name in events.Tags()["tensors"]}
        return {(e.step, name): e.tensor_proto.float_val[0] for name, found in tensors.items() for e in found}

    return read


@pytest.fixture
def wandb_metrics() -> Callable[[Path], Metrics]:
    """Reads what was logged into the file of a run in the W&B folder `folder`, by step and name."""
    import wandb

    def read(folder: Path) -> Metrics:
        wandb.teardown()  # which closes the file
        (path,) = folder.glob("run-*.wandb")
        found: Metrics = {}
        for record in _wandb_records(path.read_bytes()):
            values = {item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
            found |= {(values["step"], name): value for name, value in values.items() if "/" in name}
        return found

    return read


def _wandb_records(data: bytes) -> Iterator[Any]:
    """The records of a .wandb file, a LevelDB log: blocks of 32 KiB, fragments with checksum, length and kind."""
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]  # made when it is loaded

    place, whole = 7, b""
    while place + 7 <= len(data):
        if (room := 32768 - place % 32768) < 7:
            place += room
            continue
        size, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        whole += data[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in {1, 4}:  # whole, or the last fragment
            yield Record.FromString(whole)
            whole = b""


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """The folder of the starter model for Lua, as `agn model bootstrap` makes it."""
    agn = [sys.executable, "-c", "from agnostics.cli import main; main()"]
    command = [*agn, "model", "bootstrap", "--language", "lua", "--sandbox", "bubblewrap", "--json"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    return Path(json.loads(answer.stdout)["model"])


@pytest.fixture(scope="session")
def tiny_model(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Makes folders of random small Qwen3 models with the starter's tokenizer."""

    def make(*, tied: bool, vocabulary: int | None = None) -> Path:
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        folder = tmp_path_factory.mktemp("tiny")
        shutil.copytree(starter_model, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors"))
        config = AutoConfig.from_pretrained(starter_model, tie_word_embeddings=tied, num_hidden_layers=2)
        config.vocab_size = vocabulary or config.vocab_size
        config.layer_types = config.layer_types[:2]
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config).save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def chat_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[Callable[[str], str]], ChatServer]]:
    """Starts servers that answer as a function says; what they answered is cached in a folder of the test's own.

    The compiled packages of mathematics, and what vLLM has learnt of models in a process of seven seconds, are those of
    all tests.
    """
    shared, own = cache_folder().parent, tmp_path / "cache"
    for name in ("agnostics/math", "vllm"):
        for folder in (shared / name, (own / name).parent):
            folder.mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(shared / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    servers = list[ChatServer]()

    def start(reply: Callable[[str], str]) -> ChatServer:
        servers.append(ChatServer(reply))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[Any]:
    """A Ray cluster on this machine, which the tests of a file share; its head has one processor."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    # Else Ray kills ranks where the tests beside them leave a machine less than a twentieth of its memory.
    head = {**node, "_system_config": {"memory_monitor_refresh_ms": 0}}
    made = Cluster(initialize_head=True, head_node_args=head)
    yield made
    made.shutdown()


@pytest.fixture
def cluster(ray_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A Ray cluster of two nodes with a processor each, whatever the test before has left."""
    for node in list(ray_cluster.worker_nodes)[1:]:
        ray_cluster.remove_node(node)
    if not ray_cluster.worker_nodes:
        ray_cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    monkeypatch.setenv("RAY_ADDRESS", ray_cluster.address)
    return ray_cluster


PACKS = Path(__file__).parents[1] / "plugins"
SLOTS = 2


def pack(name: str) -> Language:
    """The language of one of our packs."""
    return Language.from_folder(PACKS / f"lang-{name}" / f"agnostics_lang_{name}", name=name)


@pytest.fixture(scope="session")
def languages() -> dict[str, Language]:
    """Lua, Fortran, and C as the Fortran toolchain brings it: for programs that speak to the kernel."""
    lua, fortran = pack("lua"), pack("fortran")
    c = {"name": "c", "filename": "snippet.c", "compile": "gcc -O1 -w -pthread -o prog snippet.c", "execute": "./prog"}
    return {"lua": lua, "fortran": fortran, "c": fortran.model_copy(update={**c, "reference": {}})}


@pytest.fixture(scope="session", params=["bubblewrap", "docker"])
def mode(request: pytest.FixtureRequest) -> str:
    """Each isolation mode that programs run in by default."""
    return str(request.param)


@pytest.fixture(scope="session")
def verifier(mode: str, languages: dict[str, Language]) -> Iterator[Verifier]:
    """A verifier with two slots."""
    with Verifier(mode, SLOTS, languages=languages) as made:
        yield made


@pytest.fixture(scope="session")
def single(mode: str, languages: dict[str, Language]) -> Iterator[Verifier]:
    """A verifier with one slot: what one program leaves, the next would find."""
    with Verifier(mode, 1, languages=languages) as made:
        yield made
