"""pi, over chat completions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation


@dataclass
class Pi(Agent):
    """pi of npm, offline, with the gateway as its provider."""

    name = "pi"
    description = "pi 0.73.1 of Mario Zechner."
    package = AgentPackage("npm", "@mariozechner/pi-coding-agent", "0.73.1", language="javascript")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        program = self.package.program("node_modules/@mariozechner/pi-coding-agent/dist/cli.js")
        options = ["--print", "--offline", "--provider", "gateway", "--model", invocation.model]
        return AgentCommand(
            [*program, *options, invocation.message],
            {"GATEWAY_KEY": invocation.key, "PI_OFFLINE": "1", "PI_TELEMETRY": "0"},
            {".home/.pi/agent/models.json": json.dumps({"providers": {"gateway": _provider(invocation)}})},
        )


def _provider(invocation: Invocation) -> dict[str, object]:
    limits = {"contextWindow": invocation.context_tokens, "maxTokens": invocation.output_tokens}
    model = {"id": invocation.model, **limits}
    url = f"{invocation.url}/v1"
    return {"baseUrl": url, "api": "openai-completions", "apiKey": "GATEWAY_KEY", "models": [model]}
