"""The environments that come with Agnostics."""

from __future__ import annotations

from typing import Any

from agnostics.environments.agentic_code import AgenticCode
from agnostics.environments.answer import ANSWER
from agnostics.environments.code_feedback import CodeFeedback
from agnostics.environments.complexity import ComplexityGeneration, ComplexityPrediction
from agnostics.environments.environment import Environment
from agnostics.environments.math import Math, MathWithPython
from agnostics.environments.termination import Termination
from agnostics.environments.trace_prediction import TracePrediction

BUILTIN_ENVIRONMENTS: tuple[Environment[Any], ...] = (
    ANSWER,
    CodeFeedback(),
    AgenticCode(),
    Math(),
    MathWithPython(),
    TracePrediction(),
    Termination(),
    ComplexityPrediction(),
    ComplexityGeneration(),
)
