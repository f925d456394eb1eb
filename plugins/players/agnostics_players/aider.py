"""aider, over chat completions."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from agnostics import Agent, AgentCommand, AgentPackage, Invocation

_SCRIPT = ".home/one_problem.py"


@dataclass
class Aider(Agent):
    """aider of PyPI. It edits files and runs no commands, but for the tests of its user after each edit.

    So its tests are a submission, whose result it reads; a start is one problem.
    """

    name = "aider"
    description = "aider 0.86.2: it edits one file, and each edit is a submission."
    package = AgentPackage("pypi", "aider-chat", "0.86.2", language="python")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        model = ["--model", f"openai/{invocation.model}", "--no-show-model-warnings"]
        alone = ["--yes-always", "--no-git", "--no-suggest-shell-commands", "--no-detect-urls", "--no-auto-lint"]
        quiet = ["--no-check-update", "--no-show-release-notes", "--analytics-disable", "--no-pretty", "--no-stream"]
        aider = [*self.package.module("aider"), *model, *alone, *quiet, "--read", self.prompt_file]
        return AgentCommand(
            [*self.package.interpreter, _SCRIPT, invocation.filename, *aider],
            {
                "OPENAI_API_KEY": invocation.key,
                "OPENAI_API_BASE": f"{invocation.url}/v1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it is downloaded
            },
            {_SCRIPT: (files(__package__) / "one_problem.py").read_text("utf-8")},
        )
