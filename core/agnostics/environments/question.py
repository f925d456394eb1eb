"""Questions about a program: what a task's metadata say of it, and the verification of an answer that is no program."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from agnostics.environments.environment import Episode
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.task import Task
from agnostics.types.verification import TestResult, Verdict, Verification


class Question(BaseModel):
    """What is read of a task's metadata; other keys are ignored."""

    model_config = ConfigDict(frozen=True)


Q = TypeVar("Q", bound=Question)


class ProgramQuestion(Question):
    """A program that a question is about, and the name of its language."""

    program: str
    language: str


def question_of(task: Task, language: Language, kind: type[Q]) -> Q:
    """The question in a task's metadata. Raises UsageError if there is none, or if it is about another language."""
    try:
        question = kind.model_validate(task.metadata)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(("metadata", *map(str, first["loc"])))
        raise UsageError(f"task {task.id}: {where}: {first['msg']}; agn datasets list has data sets of such") from error
    if isinstance(question, ProgramQuestion) and question.language != language.name:
        raise UsageError(
            f"task {task.id} is about a program of {question.language}; use --language {question.language}"
        )
    return question


def answer_verification(
    episode: Episode, answer: str | None, verdict: Verdict, error: str | None = None
) -> Verification:
    """The verification of an answer of which nothing was run."""
    test = TestResult(Verdict.SKIPPED if verdict is Verdict.NO_PROGRAM else verdict)
    return Verification(
        task_id=episode.task.id,
        language=episode.language.name,
        program=answer,
        verdict=verdict,
        tests=(test,),
        compile=None,
        sandbox=episode.sandbox,
        attempts=0,
        wall_ms=0.0,
        error=error,
    )
