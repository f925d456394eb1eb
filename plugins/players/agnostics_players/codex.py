"""Codex of OpenAI, over responses."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation, npm_platform

_TRIPLES = {"linux-x64": "x86_64-unknown-linux-musl", "linux-arm64": "aarch64-unknown-linux-musl"}
_CONFIG = """\
model = "{model}"
model_provider = "gateway"
model_context_window = {context_tokens}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[feedback]
enabled = false
[history]
persistence = "none"
[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
supports_websockets = false
"""


@dataclass
class Codex(Agent):
    """Codex of npm, without its own sandbox: it runs in ours."""

    name = "codex"
    description = "Codex 0.169.0 of OpenAI."
    package = AgentPackage("npm", "@openai/codex", "0.169.0")

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        platform = npm_platform()
        program = f"node_modules/@openai/codex-{platform}/vendor/{_TRIPLES[platform]}/bin/codex"
        options = ["--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "--ephemeral"]
        config = _CONFIG.format(model=invocation.model, url=invocation.url, context_tokens=invocation.context_tokens)
        return AgentCommand(
            [*self.package.program(program), "exec", *options, "--color", "never", invocation.message],
            {"GATEWAY_KEY": invocation.key},
            {".home/.codex/config.toml": config},
        )
