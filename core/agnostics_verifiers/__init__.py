"""The environment `agnostics-verifiers`: the `verifiers` framework looks for modules at the top level alone."""

from agnostics.integrations.verifiers_environment import (
    AgnosticsEnv,
    AgnosticsTaskset,
    SessionHarness,
    load_environment,
)

__all__ = ["AgnosticsEnv", "AgnosticsTaskset", "SessionHarness", "load_environment"]
