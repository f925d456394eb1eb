"""The environment of termination: whether a program ends on every input, or an input on which it does not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from msgspec import structs

from agnostics.environments.environment import Environment, Episode, EpisodeLimits, Transition
from agnostics.environments.question import ProgramQuestion, answer_verification, question_of
from agnostics.types.code_extraction import code_blocks, strip_reasoning
from agnostics.types.errors import UsageError
from agnostics.types.language import Language
from agnostics.types.rollout import Action
from agnostics.types.task import Comparison, Task, Test
from agnostics.types.verification import Verdict, Verification

Label = Literal["T", "NT"]
_MARK = re.compile(r"#(?P<label>NT|T)[ \t]*+$", re.MULTILINE)
_REQUEST = """\
Does this {language} program end on every input, or is there an input on which it runs for ever? It reads standard \
input.{about}

```{language}
{program}
```

If it ends on every input, let your last line be
#T
If there is an input on which it runs for ever, give that input in a code block, as the program would read it, and let \
your last line be
#NT"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim of an answer, with the input on which the program diverges; None if it names none."""

    label: Label
    input: str | None = None

    def __str__(self) -> str:
        return f"{self.input or ''}#{self.label}"


def claim_in(completion: str) -> Claim | None:
    """The claim at the last `#T` or `#NT` after a model's reasoning; None if there is none.

    The input of `#NT` stands before it on its line, else in the last code block before it. Takes time linear in the
    completion.
    """
    text = strip_reasoning(completion)
    marks = list(_MARK.finditer(text))
    if not marks:
        return None
    mark = marks[-1]
    if mark["label"] == "T":
        return Claim("T")
    above, _, before = text[: mark.start()].rpartition("\n")
    if stripped := before.strip("` \t"):
        return Claim("NT", f"{stripped}\n")
    blocks = [block for _, block in code_blocks(above)]
    return Claim("NT", blocks[-1] if blocks else None)


@dataclass(slots=True)
class TerminationState:
    """The episode and the claim of its action."""

    episode: Episode
    claim: Claim | None = None


class Termination(Environment[TerminationState]):
    """A claim that a program terminates (`#T`), or an input on which it diverges and `#NT` (section 7.4).

    The label is the output of the task's first test, and the program is in its metadata. A claim of divergence is right
    only if the label is `NT` and the program runs past the time limit on that input: one that ends by itself, or at
    another limit, has not diverged. A sandbox that fails says nothing of the claim.
    """

    name = "termination"
    limits = EpisodeLimits(max_turns=1)

    def message(self, task: Task, language: Language) -> str:
        """See `Environment.message`."""
        question = question_of(task, language, ProgramQuestion)
        about = f" {task.statement.strip()}" if task.statement.strip() else ""
        return _REQUEST.format(language=language.name, program=question.program.strip("\n"), about=about)

    async def start(self, episode: Episode) -> TerminationState:
        """See `Environment.start`."""
        return TerminationState(episode)

    async def step(self, state: TerminationState, action: Action) -> Transition:
        """See `Environment.step`."""
        state.claim = claim_in(action.text)
        return Transition()

    async def verdict(self, state: TerminationState) -> Verification:
        """See `Environment.verdict`."""
        claim, label = state.claim, state.episode.task.tests[0].output.strip()
        answer = None if claim is None else str(claim)
        if claim is None or (claim.label == label == "NT" and claim.input is None):
            return answer_verification(state.episode, answer, Verdict.NO_PROGRAM)
        if claim.label != label:
            return answer_verification(state.episode, answer, Verdict.WRONG_ANSWER)
        if claim.input is None:
            return answer_verification(state.episode, answer, Verdict.ACCEPTED)
        return await _with_divergence(state.episode, answer, claim.input)


async def _with_divergence(episode: Episode, answer: str | None, claimed: str) -> Verification:
    """The verification of the claim that the program diverges on an input: the program is run on it."""
    question = question_of(episode.task, episode.language, ProgramQuestion)
    run = Task(
        id=episode.task.id,
        tests=(Test(input=claimed, output=""),),
        compare=Comparison(mode="nothing"),
        limits=episode.task.limits,
    )
    ran = await episode.verify(question.program, run)
    if ran.verdict in {Verdict.COMPILE_ERROR, Verdict.NO_PROGRAM}:
        raise UsageError(f"task {episode.task.id}: its program is not a program of {episode.language.name}")
    verdict = {Verdict.TIME_LIMIT: Verdict.ACCEPTED, Verdict.SANDBOX_ERROR: Verdict.SANDBOX_ERROR}.get(
        ran.verdict, Verdict.WRONG_ANSWER
    )
    tests = tuple(structs.replace(test, verdict=verdict) for test in ran.tests)
    return structs.replace(ran, program=answer, verdict=verdict, tests=tests)
