"""What training on episodes with feedback gives a model, beside a control whose feedback is blanked.

python benchmarks/code_feedback.py --folder FOLDER [--model MODEL] [--steps N]

The statement of each task leaves one word open, which only the feedback on a public test shows. The model is trained
with `agn run` in the environment `code-feedback`, once with the difference and once, the control, with feedback that
says nothing. All are evaluated on tasks with words that are not in training. What is done stays in FOLDER, so that the
same command continues after an interrupt.

The starter model has never seen a second try, and is first fine-tuned on conversations of two: the word of the first
is drawn at random, and so is that of the second in three of four. (Without any second try that takes the word from the
feedback, 37 steps of training found none; with these, 25 steps had not found more.)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agnostics.environments.code_feedback import CodeFeedback
from agnostics.plugins.manager import load_plugins
from agnostics.rollout.prompts import ChatSettings
from agnostics.types.language import Language
from agnostics.types.task import Task, Test
from agnostics.verify import Verifier

HERE = Path(__file__).parent

WORDS = ("apple", "river", "stone", "cloud", "tiger", "green", "north", "music", "paper", "gold", "seven", "moon")
"""The starter model's words: each is held out in one family and known from the others."""
MORE_WORDS = (
    *WORDS,
    *("candle", "bridge", "winter", "rabbit", "silver", "garden", "window", "orange", "pencil", "forest"),
    *("copper", "thunder", "market", "violet", "engine", "harbor", "ladder", "mirror", "needle", "ocean"),
    *("pepper", "quarter", "rocket", "saddle", "temple", "umbrella", "valley", "whistle"),
)
"""Another model's words: the last `HELD_OUT_WORDS` are not in training, in no family."""
HELD_OUT_WORDS = 12
INPUTS = ("dog", "cat", "sun", "tree", "house", "blue", "fish", "bird", "car", "road", "hill", "star")
TESTS = 6
CONVERSATIONS = 4000
RIGHT_SHARE = 0.25
"""The part of the conversations whose second try takes the word from the feedback."""
FINE_TUNING = ("train.learning_rate=3e-3", "train.batch_tokens=4096")
LIMIT_S = 6 * 3600


@dataclass(frozen=True)
class ModelSetup:
    """What depends on the model: settings of training and of evaluation, and which words are held out."""

    training: tuple[str, ...]
    evaluation: tuple[str, ...]
    task_sets: int
    """Tasks of each pair of family and word, with other inputs."""


OF_EPISODES = ("rollout.group_size=8", "train.warmup_epochs=0", "train.turn_rewards=true", "train.turn_discount=0.4")
STARTER = ModelSetup(
    training=(
        *OF_EPISODES,
        *("rollout.prompts_per_step=16", "rollout.temperature=1.0", "rollout.max_completion_tokens=96"),
        *("train.learning_rate=2e-4", "train.updates_per_batch=2", "evaluation.tasks=0"),
    ),
    evaluation=("split=test", "samples=4", "temperature=0.7", "max_completion_tokens=96", "language_prompt=true"),
    task_sets=5,
)
OTHER = ModelSetup(
    training=(
        *OF_EPISODES,
        *("rollout.prompts_per_step=4", "rollout.temperature=0.8", "rollout.max_completion_tokens=96"),
        *("rollout.max_prompt_tokens=1024", "train.lora_rank=16", "train.dtype=bfloat16", "train.learning_rate=1e-4"),
        *("train.normalize_by_std=false", "evaluation.tasks=0", "checkpoint_interval=5"),
    ),
    evaluation=(
        *("split=test", "samples=2", "temperature=0.8", "max_completion_tokens=96", "language_prompt=true"),
        "dtype=bfloat16",
    ),
    task_sets=2,
)


@dataclass(frozen=True)
class OpenFamily:
    """A family of tasks with a word that its statement does not say."""

    name: str
    statement: str
    program: str
    """The program in Lua; `@word@` is the word."""

    def solve(self, given: str, word: str) -> str:
        """The output for an input."""
        return {
            "after": f"{given} {word}",
            "before": f"{word} {given}",
            "around": f"{word} {given} {word}",
            "below": f"{given}\n{word}",
        }[self.name]


FAMILIES = (
    OpenFamily("after", "Read a word. Print it with a certain word after it.", 'print(io.read("l") .. " @word@")'),
    OpenFamily("before", "Read a word. Print it with a certain word before it.", 'print("@word@ " .. io.read("l"))'),
    OpenFamily(
        "around",
        "Read a word. Print it between two times a certain word.",
        'print("@word@ " .. io.read("l") .. " @word@")',
    ),
    OpenFamily(
        "below", "Read a word. Print it, and on the next line a certain word.", 'print(io.read("l"))\nprint("@word@")'
    ),
)


def main() -> None:
    """Make what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument(
        "--model", default="starter", help="the model: starter, a GGUF file, a folder, a name on the hub"
    )
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()
    bench = FeedbackBench(arguments.folder.resolve(), arguments.model, arguments.steps)
    print(json.dumps(bench.results(), indent=2))


class FeedbackBench:
    """Makes the figures of `model` in `folder`."""

    def __init__(self, folder: Path, model: str, steps: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._model, self._steps = folder, model, steps
        self._setup = STARTER if model == "starter" else OTHER
        self._store = f"sqlite:///{(folder / 'results.db').resolve()}"
        self._tasks = folder / "tasks.jsonl"

    def results(self) -> dict[str, Any]:
        """pass@1 of single answers, and the share of tasks solved within three turns, of each model."""
        is_starter = self._setup is STARTER
        lines = starter_tasks() if is_starter else other_tasks()
        self._tasks.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        start = self._fine_tuned() if is_starter else self._model
        models = {"start": start, **{name: self._trained(name, start) for name in ("difference", "none")}}
        return {name: self._evaluated(name, model) for name, model in models.items()}

    def _fine_tuned(self) -> str:
        """The starter model that knows the form of a second try."""

        def make() -> list[str]:
            data = self._folder / "conversations.jsonl"
            data.write_text("".join(f"{json.dumps(line)}\n" for line in conversations()), encoding="utf-8")
            return ["sft", "--model", "starter", "--data", str(data), *_set(FINE_TUNING)]

        return self._run("start", make)

    def _trained(self, feedback: str, start: str) -> str:
        return self._run(
            feedback,
            lambda: [
                *("run", "--model", start, "--dataset", str(self._tasks), "--environment", "code-feedback"),
                *("--steps", str(self._steps), *_set([*self._setup.training, *self._chat()])),
                *_set([f"environment_options={{feedback='{feedback}'}}"]),
            ],
        )

    def _run(self, name: str, words: Any) -> str:
        """The folder of a training run; one that an interrupt has left is resumed."""
        folder = self._folder / name
        done = folder / "summary.json"
        if not done.is_file():
            unfinished = sorted(folder.glob("runs/*/config.toml"))
            command = words()
            if unfinished:
                command = [command[0], "--resume", str(unfinished[-1].parent)]
            else:
                command += _set([f"output={folder / 'runs'}"])
            folder.mkdir(exist_ok=True)
            done.write_text(json.dumps(self._agn(*command)), encoding="utf-8")
        run = json.loads(done.read_text(encoding="utf-8"))["run"]
        return str(folder / "runs" / run)

    def _evaluated(self, name: str, model: str) -> dict[str, Any]:
        """The rates of a model: one answer, and episodes with the feedback that it was trained with, and the other."""
        path = self._folder / f"evaluation-{name}.json"
        if not path.is_file():
            kinds = {"answer": ("answer", "{}")}
            kinds |= {kind: ("code-feedback", f"{{feedback='{kind}'}}") for kind in ("difference", "none")}
            rates = {kind: self._rate(model, *settings) for kind, settings in kinds.items()}
            path.write_text(json.dumps(rates), encoding="utf-8")
        rates = json.loads(path.read_text(encoding="utf-8"))
        return dict(rates)

    def _rate(self, model: str, environment: str, options: str) -> Any:
        settings = _set([*self._setup.evaluation, *self._chat(), f"environment_options={options}"])
        words = ["--model", model, "--dataset", str(self._tasks), "--environment", environment, *settings]
        return self._agn("eval", *words)["evaluations"][0]["rates"]["pass@1"]

    def _chat(self) -> list[str]:
        """The prompt with an example program: without it a model that was not made here writes hardly any."""
        if self._setup is STARTER:
            return []
        template = (HERE / "prompts" / "lua.txt").read_text(encoding="utf-8").strip()
        return [f"chat.template={json.dumps(template)}"]

    def _agn(self, *words: str) -> Any:
        command = [sys.executable, "-m", "agnostics", *words, "--language", "lua", "--store", self._store, "--json"]
        if words[0] == "sft":
            command = [word for word in command if word not in ("--language", "lua")]
        print(" ".join(command), file=sys.stderr)
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
        return json.loads(answer.stdout.splitlines()[-1])


def starter_tasks() -> Iterator[dict[str, Any]]:
    """The tasks of the starter model. Each word is held out in one family and known from the others."""
    for place, word in enumerate(WORDS):
        for number, family in enumerate(FAMILIES):
            yield from _lines(family, word, STARTER, is_held_out=place % len(FAMILIES) == number)


def other_tasks() -> Iterator[dict[str, Any]]:
    """The tasks of another model, which can copy: words that are held out are in no family's training tasks."""
    for place, word in enumerate(MORE_WORDS):
        for family in FAMILIES:
            yield from _lines(family, word, OTHER, is_held_out=place >= len(MORE_WORDS) - HELD_OUT_WORDS)


def _lines(family: OpenFamily, word: str, setup: ModelSetup, *, is_held_out: bool) -> Iterator[dict[str, Any]]:
    for variant in range(setup.task_sets):
        task = open_task(family, word, variant)
        split = "test" if is_held_out else "train"
        yield {**task.model_dump(include={"id", "statement", "tests", "family"}), "split": split}


def open_task(family: OpenFamily, word: str, variant: int) -> Task:
    """A task of a family; its tests depend on `variant`."""
    inputs = Random(f"{family.name}/{word}/{variant}").sample(INPUTS, TESTS)
    tests = tuple(Test(input=given, output=family.solve(given, word)) for given in inputs)
    return Task(
        id=f"{family.name}/{word}/{variant}", statement=family.statement, tests=tests, family=f"{family.name}-{word}"
    )


def conversations() -> Iterator[dict[str, Any]]:
    """Conversations of two tries on training tasks."""
    language, random = load_plugins().language("lua"), Random(0)
    environment = CodeFeedback()
    known = [line for line in starter_tasks() if line["split"] == "train"]
    with Verifier() as verifier:
        for _ in range(CONVERSATIONS):
            line = random.choice(known)
            task = Task.model_validate({key: line[key] for key in ("id", "statement", "tests", "family")})
            family, _, right = line["family"].partition("-")
            second = right if random.random() < RIGHT_SHARE else random.choice(WORDS)
            programs = [_program(family, word) for word in (random.choice(WORDS), second)]
            told = environment.feedback_on(task, verifier.verify(language, programs[0], environment.public(task)))
            said = [programs[0], told, programs[1]] if told else [programs[0]]
            yield {"messages": _messages(language, task, said)}


def _program(family: str, word: str) -> str:
    (found,) = (one for one in FAMILIES if one.name == family)
    return found.program.replace("@word@", word)


def _messages(language: Language, task: Task, said: Sequence[str]) -> list[dict[str, str]]:
    """The conversation of a task: programs of the assistant, and between them feedback of the user."""
    messages = [{"role": "user", "content": ChatSettings().message(language, task)}]
    for place, text in enumerate(said):
        is_program = place % 2 == 0
        content = f"```lua\n{text}\n```" if is_program else text
        messages.append({"role": "assistant" if is_program else "user", "content": content})
    return messages


def _set(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


if __name__ == "__main__":
    main()
