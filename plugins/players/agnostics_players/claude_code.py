"""Claude Code of Anthropic, over messages."""

from __future__ import annotations

from dataclasses import dataclass

from agnostics import Agent, AgentCommand, AgentPackage, Invocation, npm_platform


@dataclass
class ClaudeCode(Agent):
    """Claude Code of npm, without questions about permissions."""

    name = "claude-code"
    description = "Claude Code 2.1.328 of Anthropic."
    package = AgentPackage("npm", "@anthropic-ai/claude-code", "2.1.328")
    prompt_file = "CLAUDE.md"

    def command(self, invocation: Invocation) -> AgentCommand:
        """See `Agent.command`."""
        program = f"node_modules/@anthropic-ai/claude-code-{npm_platform()}/claude"
        options = ["--dangerously-skip-permissions", "--output-format", "text", "--model", invocation.model]
        return AgentCommand(
            [*self.package.program(program), *options, "--print", invocation.message],
            {
                "ANTHROPIC_BASE_URL": invocation.url,
                "ANTHROPIC_API_KEY": invocation.key,
                "ANTHROPIC_DEFAULT_HAIKU_MODEL": invocation.model,
                "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(invocation.output_tokens),
                "CLAUDE_CODE_MAX_CONTEXT_TOKENS": str(invocation.context_tokens),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "IS_SANDBOX": "1",
            },
        )
