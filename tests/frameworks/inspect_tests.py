"""Our sandbox in inspect_ai, run by `tests/integration/test_frameworks.py` where inspect_ai is installed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from agnostics.integrations.inspect_sandbox import AgnosticsSandboxEnvironment
from agnostics.integrations.shared_pools import SandboxConfig
from agnostics.types.errors import UsageError
from agnostics.types.task import Limits
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, generate, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandbox,
)
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from inspect_ai.util._sandbox.self_check import *  # noqa: F403  # inspect_ai's checks of a sandbox

pytestmark = pytest.mark.anyio

LIMITS = Limits(run_s=20, memory_mb=256, processes=64)
CANNOT = {
    "test_exec_as_user": {"bubblewrap": "a session has one user", "docker": "a session has one user"},
    "test_exec_permission_error": {"bubblewrap": "there is no /etc/passwd in the sandbox"},
}
"""The checks that a session cannot pass, with the reason in each mode."""
NEEDS_PS = ("test_exec_timeout_kills_process", "test_exec_timeout_kills_child_processes")
COMMANDS = (
    "cat given/words.txt && mkdir -p out/deep",
    "sort -r given/words.txt | tee out/deep/sorted.txt | wc -l",
    "echo problem >&2; echo printed; exit 3",
    "cat no-such-file",
    "printf '%s|' \"$0\" a\\ b; echo; ls -R .",
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", params=["bubblewrap", "docker"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def config(mode: str) -> Iterator[SandboxConfig]:
    """The configuration of a task that runs."""
    made = SandboxConfig(sandbox=mode, limits=LIMITS)
    anyio.run(AgnosticsSandboxEnvironment.task_init, "startup", made)
    yield made
    anyio.run(AgnosticsSandboxEnvironment.task_cleanup, "shutdown", made, True)


@pytest.fixture
async def sandbox_env(
    request: pytest.FixtureRequest, config: SandboxConfig
) -> AsyncIterator[AgnosticsSandboxEnvironment]:
    """The environment of a sample, as inspect_ai's own checks want it."""
    name = getattr(request.node, "originalname", "")
    if config.sandbox == "docker" and name in NEEDS_PS:
        pytest.skip("there is no ps in the image, and without it the check says nothing")
    if reason := CANNOT.get(name, {}).get(config.sandbox):
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    environments = await AgnosticsSandboxEnvironment.sample_init("task", config, {})
    yield environments["default"].as_type(AgnosticsSandboxEnvironment)
    await AgnosticsSandboxEnvironment.sample_cleanup("task", config, environments, False)


async def test_a_command_that_waits_leaves_the_event_loop_free(sandbox_env: AgnosticsSandboxEnvironment) -> None:
    turns = 0
    async with anyio.create_task_group() as group:
        group.start_soon(sandbox_env.exec, ["sleep", "0.5"])
        for _ in range(20):
            await anyio.sleep(0.01)
            turns += 1
        started = time.monotonic()
        assert (await sandbox_env.exec(["echo", "after"])).stdout == "after\n"
    assert turns == 20
    assert time.monotonic() - started > 0.1, "the second command did not wait for the first"


async def test_a_command_that_is_cancelled_ends_and_the_next_one_finds_its_files(
    sandbox_env: AgnosticsSandboxEnvironment,
) -> None:
    started = time.monotonic()
    for wait_s in (0.0, 0.001, 0.01, 0.5):
        with anyio.move_on_after(wait_s) as scope:
            await sandbox_env.exec(["sh", "-c", "trap '' INT TERM; touch begun; sleep 18; touch ended"])
        assert scope.cancelled_caught
        assert (await sandbox_env.exec(["echo", "on"])).stdout == "on\n"
    assert (await sandbox_env.exec(["ls"])).stdout == "begun\n"
    assert time.monotonic() - started < 18


async def test_a_command_that_is_cancelled_while_it_waits_for_another_one_never_runs(
    sandbox_env: AgnosticsSandboxEnvironment,
) -> None:
    results = []

    async def first() -> None:
        results.append(await sandbox_env.exec(["sh", "-c", "sleep 1; ls; echo first"]))

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await anyio.sleep(0.1)
        with anyio.move_on_after(0.3):
            await sandbox_env.exec(["touch", "made"])
    assert [result.stdout for result in results] == ["first\n"]
    assert (await sandbox_env.exec(["ls"])).stdout == ""


async def test_what_may_not_be_executed_is_a_permission_error_also_in_a_folder(
    sandbox_env: AgnosticsSandboxEnvironment,
) -> None:
    await sandbox_env.write_file("folder/file", "#!/bin/sh\n")
    with pytest.raises(PermissionError):
        await sandbox_env.exec(["./folder/file"])
    with pytest.raises(PermissionError):
        await sandbox_env.exec(["./file"], cwd="folder")
    inner = await sandbox_env.exec(["bash", "-c", "folder/file"])
    assert (inner.success, inner.returncode) == (False, 126)
    missing = await sandbox_env.exec(["no-such-command"], cwd="folder")
    assert missing.returncode == 127


async def test_output_beyond_inspect_s_limit_is_its_error(sandbox_env: AgnosticsSandboxEnvironment) -> None:
    with override_max_exec_output_size(1000), pytest.raises(OutputLimitExceededError, match="1000 bytes") as error:
        await sandbox_env.exec(["head", "-c", "1001", "/dev/zero"])
    assert len(str(error.value.truncated_output)) <= 1000
    with override_max_exec_output_size(1000):
        assert len((await sandbox_env.exec(["head", "-c", "1000", "/dev/zero"])).stdout) == 1000


async def test_the_errors_of_files_are_python_s(sandbox_env: AgnosticsSandboxEnvironment) -> None:
    await sandbox_env.write_file("latin", b"\xe9")
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.read_file("latin")
    with pytest.raises(PermissionError, match="/usr/file"):
        await sandbox_env.write_file("/usr/file", "")
    with pytest.raises(OSError, match="latin/file"):
        await sandbox_env.write_file("latin/file", "")
    with pytest.raises(OSError, match="too large"):
        await sandbox_env.write_file("large", bytes((64 << 20) + 1))
    await sandbox_env.exec(["sh", "-c", "mkfifo pipe; truncate -s 65M large"])
    assert await sandbox_env.read_file("pipe") == ""
    with pytest.raises(OutputLimitExceededError, match="64 MiB"):
        await sandbox_env.read_file("large", text=False)
    await sandbox_env.write_file("$(touch made) -rf; '", "odd name")
    assert (await sandbox_env.exec(["ls"])).stdout.split("\n", 1)[0] == "$(touch made) -rf; '"


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
async def test_what_no_command_can_hold_is_a_failed_command_and_not_the_end_of_a_sample(
    sandbox_env: AgnosticsSandboxEnvironment, odd: str
) -> None:
    result = await sandbox_env.exec(["echo", f"a{odd}b"])
    assert (result.success, result.returncode, result.stdout) == (False, 127, "")
    assert "cannot be a file name, argument or variable" in result.stderr
    with pytest.raises(FileNotFoundError, match=r"a.*b"):
        await sandbox_env.read_file(f"a{odd}b")
    with pytest.raises(FileNotFoundError, match=r"a.*b"):
        await sandbox_env.write_file(f"a{odd}b", "")
    assert (await sandbox_env.exec(["wc", "-c"], input=f"a{odd}b")).success
    await sandbox_env.write_file("odd", f"a{odd}b")
    assert (await sandbox_env.exec(["echo", "on"])).stdout == "on\n"


async def test_another_user_and_a_sandbox_that_has_ended_are_told_apart(
    sandbox_env: AgnosticsSandboxEnvironment,
) -> None:
    with pytest.raises(SandboxUserUnsupportedError, match="one user"):
        await sandbox_env.exec(["true"], user="root")
    sandbox_env._session.close()
    with pytest.raises(SandboxUnavailableError, match="closed"):
        await sandbox_env.exec(["true"])


@scorer(metrics=[accuracy()])
def last_word() -> Scorer:
    """Whether the first line of the file that the agent wrote is the target."""

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        text = await sandbox().read_file("out/deep/sorted.txt")
        return Score(value=text.splitlines()[0] == target.text, answer=text)

    return score


def evaluated(
    where: Any, folder: Path, commands: tuple[str, ...] = COMMANDS, samples: int = 1, **options: Any
) -> EvalLog:
    """The log of a scripted agent's evaluation in a sandbox."""
    script = [ModelOutput.for_tool_call("mockllm/model", "bash", {"command": command}) for command in commands]
    script.append(ModelOutput.from_content("mockllm/model", "It is done."))
    for output in script:
        output.usage = ModelUsage()  # which inspect_ai else counts with a tokenizer from the network
    task = Task(
        dataset=[
            Sample(input="Sort.", target="pear", id=number, files={"given/words.txt": "fig\npear\napple\n"})
            for number in range(samples)
        ],
        solver=[use_tools(bash(timeout=20)), generate()],
        scorer=last_word(),
        sandbox=where,
    )
    model = get_model("mockllm/model", custom_outputs=script * samples, memoize=False)
    (log,) = eval(task, model=model, log_dir=str(folder), display="none", max_samples=1, **options)
    return log


def transcript(sample: EvalSample) -> list[tuple[str, str, Any]]:
    """What the model was told and said, without the ids of the calls."""
    calls = [getattr(message, "tool_calls", None) or [] for message in sample.messages]
    return [
        (message.role, message.text, [(call.function, call.arguments) for call in made])
        for message, made in zip(sample.messages, calls, strict=True)
    ]


def only_sample(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    (sample,) = log.samples or []
    assert sample.error is None
    return sample


def test_an_evaluation_in_our_sandbox_is_scored_by_what_the_agent_wrote(tmp_path: Path, mode: str) -> None:
    config = SandboxConfig(language="lua", sandbox=mode, limits=LIMITS)
    log = evaluated(SandboxEnvironmentSpec("agnostics", config), tmp_path)
    scores = only_sample(log).scores or {}
    assert (scores["last_word"].value, scores["last_word"].answer) == (True, "pear\nfig\napple\n")
    stored = read_eval_log(log.location)
    assert stored.eval.sandbox is not None
    assert stored.eval.sandbox.config == config, "the log does not bring the configuration back"


def test_the_same_agent_has_the_same_transcript_in_inspect_s_own_sandbox_and_in_ours(tmp_path: Path) -> None:
    theirs, ours = (only_sample(evaluated(name, tmp_path)) for name in ("local", "agnostics"))
    assert transcript(ours) == transcript(theirs)
    assert "No such file" in str(transcript(ours))
    assert [score.value for sample in (ours, theirs) for score in (sample.scores or {}).values()] == [True, True]


def test_samples_do_not_see_each_other_and_a_language_file_is_a_configuration(tmp_path: Path) -> None:
    file = tmp_path / "shell.yaml"
    file.write_text("prompt: ''\nfilename: script\nexecute: bash script\n")
    log = evaluated(("agnostics", str(file)), tmp_path, ("test ! -e mine && touch mine && echo first", *COMMANDS), 3)
    assert log.status == "success", log.error
    assert [transcript(sample)[2][1] for sample in log.samples or []] == ["first\n"] * 3


def test_a_sample_that_reaches_its_time_limit_in_a_command_is_scored_as_in_inspect_s_own_sandbox(
    tmp_path: Path,
) -> None:
    commands = ("mkdir -p out/deep; echo pear > out/deep/sorted.txt", "sleep 60")
    ours = [SandboxConfig(sandbox=mode, limits=LIMITS) for mode in ("bubblewrap", "docker")]
    sandboxes = ["local", *(SandboxEnvironmentSpec("agnostics", config) for config in ours)]
    samples = [only_sample(evaluated(where, tmp_path, commands, time_limit=5)) for where in sandboxes]
    assert [sample.limit.type for sample in samples if sample.limit] == ["time"] * 3
    assert [(sample.scores or {})["last_word"].value for sample in samples] == [True] * 3
    assert transcript(samples[1]) == transcript(samples[2]) == transcript(samples[0])


def test_a_language_that_is_not_here_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown language 'klingon'"):
        evaluated(("agnostics", "klingon"), tmp_path)
