"""OpenCode, over chat completions."""

from __future__ import annotations

import json
from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation, npm_platform

_PROGRAMS = {"linux-x64": "opencode-linux-x64-baseline", "linux-arm64": "opencode-linux-arm64"}


@dataclass
class OpenCode(Agent):
    """OpenCode of npm, with the gateway as its only provider."""

    name = "opencode"
    description = "OpenCode 1.18.33."
    package = AgentPackage("npm", "opencode-ai", "1.18.33")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        program = f"node_modules/{_PROGRAMS[npm_platform()]}/bin/opencode"
        return AgentCommand(
            [*self.package.program(program), "run", "--auto", invocation.message],
            {
                "OPENCODE_CONFIG_CONTENT": json.dumps(_config(invocation)),
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
            },
        )


def _config(invocation: Invocation) -> dict[str, object]:
    name = f"gateway/{invocation.model}"
    limit = {"context": invocation.context_tokens, "output": invocation.output_tokens}
    models = {invocation.model: {"name": invocation.model, "tool_call": True, "limit": limit}}
    options = {"baseURL": f"{invocation.url}/v1", "apiKey": invocation.key, "timeout": False}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "gateway", "options": options, "models": models}
    quiet = {"share": "disabled", "autoupdate": False, "permission": "allow"}
    return {
        **quiet,
        "model": name,
        "small_model": name,
        "enabled_providers": ["gateway"],
        "provider": {"gateway": provider},
    }
