"""mini-swe-agent: a loop of shell commands, over chat completions."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation


@dataclass
class MiniSweAgent(Agent):
    """mini-swe-agent of PyPI with its own configuration `mini.yaml`. It reads no prompt file: its task is all."""

    name = "mini-swe-agent"
    description = "mini-swe-agent 2.4.6: shell commands alone."
    package = AgentPackage("pypi", "mini-swe-agent", "2.4.6", language="python")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        model = {
            "model_name": f"openai/{invocation.model}",
            "model_kwargs.api_base": f"{invocation.url}/v1",
            "model_kwargs.max_tokens": invocation.output_tokens,
        }
        settings = [part for name, value in model.items() for part in ("-c", f"model.{name}={value}")]
        options = ["--yolo", "--exit-immediately", "--cost-limit", "0", "--output", "/tmp/trajectory.json"]
        task = f"{invocation.message}\n\n{invocation.prompt}"
        return AgentCommand(
            [*self.package.module("minisweagent.run.mini"), "-c", "mini.yaml", *settings, *options, "--task", task],
            {
                "OPENAI_API_KEY": invocation.key,
                "MSWEA_CONFIGURED": "true",  # else it asks for a model and a key
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_SILENT_STARTUP": "1",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it is downloaded
            },
        )
