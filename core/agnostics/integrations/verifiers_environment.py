"""An environment of the `verifiers` framework: our tasks, an agent in one of our sessions, and our verdicts as reward.

The framework finds it as `agnostics-verifiers`, by the module `agnostics_verifiers`, which exports these classes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack

import verifiers.v1 as vf

from agnostics.integrations.shared_pools import LIMITS, SandboxConfig, open_pool
from agnostics.integrations.verifiers_agent import SessionHarness, SessionRuntime
from agnostics.plugins.manager import load_plugins
from agnostics.rollout.prompts import ChatSettings
from agnostics.types.errors import AgnosticsError
from agnostics.types.language import Language
from agnostics.types.task import Limits, Task
from agnostics.types.verification import Verdict, Verification
from agnostics.verify import Verifier

TASKSET = "agnostics-verifiers"
"""The name by which the framework finds the environment."""
MAX_TURNS = 20
"""The most messages of a model in one episode, unless configured otherwise."""


class AgnosticsData(vf.TaskData):
    """A task of ours with its prompt. The tests are in traces, so that they can be scored again, and in no prompt."""

    problem: Task


class AgnosticsTask(vf.Task[AgnosticsData]):
    """A task; its rewards are the environment's."""

    @property
    def key(self) -> str:
        """The task's id, which says the same in every run."""
        return str(self.data.problem.id)


class AgnosticsTasksetConfig(vf.TasksetConfig):
    """The tasks, and the language in which they are to be solved."""

    dataset: str = "starter"
    """A data set by its name, `adapter:source`, or a file, as for `agn eval --dataset`."""
    split: str = "test"
    language: str = "python"
    """A language by its name, or a YAML file."""


class AgnosticsTaskset(vf.Taskset[AgnosticsTask, AgnosticsTasksetConfig]):
    """The tasks of a data set with prompts in the words of a language."""

    def load(self) -> Iterator[AgnosticsTask]:
        """The tasks. Raises UsageError for an unknown data set, split or language."""
        plugins, chat = load_plugins(), ChatSettings()
        language = plugins.language(self.config.language)
        dataset, source = plugins.dataset(self.config.dataset)
        for problem in dataset.tasks(self.config.split, source=source):
            data = AgnosticsData(id=problem.id, prompt=chat.message(language, problem), problem=problem)
            yield AgnosticsTask(data, self.config.task)


class AgnosticsEnvConfig(vf.EnvConfig):
    """The environment's configuration."""

    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig(), max_turns=MAX_TURNS)
    """The model, with a bash in a session. The runtime is not used: the session is lent in its place."""
    sandbox: str = "auto"
    """The sandbox mode of sessions and of verification: `auto`, or a backend's name."""
    limits: Limits = LIMITS.model_copy(update={"run_s": 60.0})
    """The limits of each command of the agent. Programs are verified with those of the task and of the language."""


class AgnosticsEnv(vf.Env[AgnosticsEnvConfig]):
    """Lends each episode a session and rewards the program in the model's last message."""

    _resources: ExitStack | None = None

    async def start(self) -> None:
        """Open the verifier and the pool of sessions."""
        await asyncio.to_thread(self._open)

    async def stop(self) -> None:
        """End every sandbox."""
        if self._resources:
            await asyncio.to_thread(self._resources.close)

    def _open(self) -> None:
        plugins, config = load_plugins(), self.config
        self._language: Language = plugins.language(config.taskset.language)
        self._resources = ExitStack()
        verifier = Verifier(config.sandbox, languages=plugins.languages(), backends=plugins.sandboxes())
        self._verifier = self._resources.enter_context(verifier)
        pool = open_pool(SandboxConfig(language=config.taskset.language, sandbox=config.sandbox, limits=config.limits))
        self._pool = self._resources.enter_context(pool)

    async def run(self, task: AgnosticsTask, agents: vf.Agents) -> None:
        """Let the agent work in a session of its own."""
        opening = asyncio.ensure_future(asyncio.to_thread(self._pool.open))
        try:
            session = await asyncio.shield(opening)
            await agents.agent.run(task, runtime=SessionRuntime(session, self._verifier.mode))
        finally:  # the episode's time may be up before the session is open: no thread can be cancelled
            await asyncio.to_thread((await opening).close)

    async def finalize(self, task: AgnosticsTask, episode: vf.Episode) -> None:
        """Verify what the agent answered. Raises AgnosticsError if the sandbox failed, which is no failed test."""
        for trace in episode.traces:
            program = self._language.program_for(task.data.problem, trace.last_reply)
            verification = await asyncio.to_thread(self._verifier.verify, self._language, program, task.data.problem)
            if verification.verdict is Verdict.SANDBOX_ERROR:
                raise AgnosticsError(f"the program could not be verified: {verification.error}")
            _record(trace, verification)


def _record(trace: vf.Trace, verification: Verification) -> None:
    trace.record_reward("accepted", float(verification.verdict is Verdict.ACCEPTED))
    trace.info["verdict"] = str(verification.verdict)


def load_environment(
    language: str = "python",
    dataset: str = "starter",
    split: str = "test",
    sandbox: str = "auto",
    limits: Limits | None = None,
) -> AgnosticsEnv:
    """The environment as Python code uses it; `vf-eval agnostics-verifiers` has the same settings as options."""
    taskset = AgnosticsTasksetConfig(id=TASKSET, language=language, dataset=dataset, split=split)
    config = AgnosticsEnvConfig(taskset=taskset, sandbox=sandbox)
    return AgnosticsEnv(config.model_copy(update={"limits": limits}) if limits else config)


__all__ = ["AgnosticsEnv", "AgnosticsTaskset", "SessionHarness", "load_environment"]
