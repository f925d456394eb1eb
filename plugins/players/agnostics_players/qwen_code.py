"""Qwen Code, over chat completions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation

_SETTINGS = {
    "general": {"enableAutoUpdate": False, "disableAutoUpdate": True, "disableUpdateNag": True},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "context": {"fileName": ["AGENTS.md"]},
}


@dataclass
class QwenCode(Agent):
    """Qwen Code of npm, without questions about permissions."""

    name = "qwen-code"
    description = "Qwen Code 0.24.4."
    package = AgentPackage("npm", "@qwen-code/qwen-code", "0.24.4", language="javascript")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        program = self.package.program("node_modules/@qwen-code/qwen-code/cli-entry.js")
        options = ["--auth-type", "openai", "--model", invocation.model, "--yolo", "--output-format", "text"]
        return AgentCommand(
            [*program, *options, invocation.message],
            {
                "OPENAI_API_KEY": invocation.key,
                "OPENAI_BASE_URL": f"{invocation.url}/v1",
                "OPENAI_MODEL": invocation.model,
                "QWEN_CODE_SUPPRESS_YOLO_WARNING": "1",
            },
            {".home/.qwen/settings.json": json.dumps(_SETTINGS)},
        )
