"""What training on episodes with feedback gives a model, beside a control whose feedback is blanked.

python benchmarks/code_feedback.py --folder FOLDER [--model MODEL] [--steps N]

The statement of each task leaves something open that only the feedback on a public test shows: for the starter model
the way in which the input is changed, for another model a word that is printed beside it. The model is trained with
`agn run` in the environment `code-feedback`, once with the difference and once, the control, with feedback that says
nothing. All are evaluated on held-out tasks: inputs that are not in training for the starter model, words that are not
in training for another one. What is done stays in FOLDER, so that the same command continues after an interrupt.

The starter model has never seen a second try. It is first fine-tuned on conversations of two tries, the first of which
changes the input in a way drawn at random; after them 0.44 of its second tries are right.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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

TESTS = 6
NOUNS = ("dog", "cat", "sun", "tree", "house", "blue", "fish", "bird", "car", "road", "hill", "star")
HELD_OUT_NOUNS = ("cow", "ant", "sea", "leaf", "barn", "grey", "frog", "wolf", "bus", "path", "lake", "rain")
Draw = Callable[[Random, bool], list[str]]
"""Draws the inputs of a task's tests; those of held-out tasks (True) are never drawn for other ones."""


def _nouns(random: Random, is_held_out: bool) -> list[str]:
    return random.sample(HELD_OUT_NOUNS if is_held_out else NOUNS, TESTS)


def _pairs(random: Random, is_held_out: bool) -> list[str]:
    firsts, seconds = _nouns(random, is_held_out), _nouns(random, is_held_out)
    return [f"{first} {second}" for first, second in zip(firsts, seconds, strict=True)]


def _numbers(random: Random, is_held_out: bool) -> list[str]:
    known = [number for number in range(100, 1000) if (number % 4 == 0) == is_held_out]
    return [str(number) for number in random.sample(known, TESTS)]


def _codes(random: Random, is_held_out: bool) -> list[str]:
    return [f"{random.choice('abcdefgh')}{number[1:]}" for number in _numbers(random, is_held_out)]


INPUTS: dict[str, Draw] = {
    "a word": _nouns,
    "two words on one line": _pairs,
    "a number": _numbers,
    "a code of a letter and digits": _codes,
}
WAYS: dict[str, tuple[str, Callable[[str], str]]] = {
    "twice": ("print(line .. line)", lambda line: line * 2),
    "length": ("print(#line)", lambda line: str(len(line))),
    "reversed": ("print(line:reverse())", lambda line: line[::-1]),
    "first": ("print(line:sub(1, 1))", lambda line: line[:1]),
    "exclaimed": ('print(line .. "!")', lambda line: f"{line}!"),
    "brackets": ('print("(" .. line .. ")")', lambda line: f"({line})"),
    "apart": ('print(line .. " " .. line)', lambda line: f"{line} {line}"),
    "hash": ('print("#" .. line)', lambda line: f"#{line}"),
    "dash": ('print("-" .. line)', lambda line: f"-{line}"),
    "last": ("print(line:sub(-1))", lambda line: line[-1:]),
    "comma": ('print(line .. ",")', lambda line: f"{line},"),
    "stars": ('print("*" .. line .. "*")', lambda line: f"*{line}*"),
}
"""Ways to change a line, in Lua and in Python."""
PLACES: dict[str, tuple[str, str, Callable[[str, str], str]]] = {
    "after": ("Print it with a certain word after it.", 'print(line .. " @")', lambda word, line: f"{line} {word}"),
    "before": ("Print it with a certain word before it.", 'print("@ " .. line)', lambda word, line: f"{word} {line}"),
    "around": (
        "Print it between two times a certain word.",
        'print("@ " .. line .. " @")',
        lambda word, line: f"{word} {line} {word}",
    ),
    "below": (
        "Print it, and on the next line a certain word.",
        'print(line)\nprint("@")',
        lambda word, line: f"{line}\n{word}",
    ),
}
"""Places of a word, and programs in Lua in which `@` is the word."""
WORDS = (
    *("apple", "river", "stone", "cloud", "tiger", "green", "north", "music", "paper", "gold", "seven", "moon"),
    *("candle", "bridge", "winter", "rabbit", "silver", "garden", "window", "orange", "pencil", "forest"),
    *("copper", "thunder", "market", "violet", "engine", "harbor", "ladder", "mirror", "needle", "ocean"),
    *("pepper", "quarter", "rocket", "saddle", "temple", "umbrella", "valley", "whistle"),
)
"""The last `HELD_OUT_WORDS` are not in training, in no place."""
HELD_OUT_WORDS = 12
CONVERSATIONS = 3300
FINE_TUNING = ("train.learning_rate=3e-3", "train.batch_tokens=2048")
LIMIT_S = 6 * 3600


@dataclass(frozen=True)
class ModelSetup:
    """What depends on the model: settings of training and of evaluation, and which words are held out."""

    training: tuple[str, ...]
    evaluation: tuple[str, ...]
    variants: int
    """Tasks of each family, with other inputs."""


OF_EPISODES = ("rollout.group_size=8", "train.warmup_epochs=0", "train.turn_rewards=true", "train.turn_discount=0.4")
STARTER = ModelSetup(
    training=(
        *OF_EPISODES,
        *("rollout.prompts_per_step=16", "rollout.temperature=1.0", "rollout.max_completion_tokens=96"),
        *("train.learning_rate=6e-4", "train.updates_per_batch=2", "evaluation.tasks=0"),
    ),
    evaluation=("split=test", "samples=4", "temperature=0.7", "max_completion_tokens=96", "language_prompt=true"),
    variants=3,
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
    variants=2,
)


@dataclass(frozen=True)
class OpenFamily:
    """Tasks with the same statement and the same right program, which the statement does not decide."""

    name: str
    statement: str
    program: str
    """In Lua."""
    solve: Callable[[str], str]
    draw: Draw
    is_held_out: bool
    draws_held_out: bool = False
    """Whether the inputs are held-out ones."""

    def task(self, variant: int) -> Task:
        """A task with inputs of its own."""
        inputs = self.draw(Random(f"{self.name}/{variant}"), self.draws_held_out)
        name = f"{self.name}/held-out/{variant}" if self.draws_held_out else f"{self.name}/{variant}"
        tests = tuple(Test(input=given, output=self.solve(given)) for given in inputs)
        return Task(id=name, statement=self.statement, tests=tests, family=self.name)


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
        lines = task_lines(starter_families() if is_starter else other_families(), self._setup.variants)
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


def starter_families() -> Iterator[OpenFamily]:
    """The families of the starter model: an input of some kind, changed in some way, with known inputs and others."""
    for way, (program, solve) in WAYS.items():
        for kind, draw in INPUTS.items():
            for is_held_out in (False, True):
                name, statement = f"{kind}/{way}", f"Read {kind}. Print it, changed in a certain way."
                yield OpenFamily(name, statement, _reading(program), solve, draw, is_held_out, is_held_out)


def other_families() -> Iterator[OpenFamily]:
    """The families of another model, which can copy: a word of the input with another in some place beside it."""
    for number, word in enumerate(WORDS):
        is_held_out = number >= len(WORDS) - HELD_OUT_WORDS
        for name, (place, program, solve) in PLACES.items():
            statement, shown = f"Read a word. {place}", _reading(program.replace("@", word))
            yield OpenFamily(f"{name}/{word}", statement, shown, partial(solve, word), INPUTS["a word"], is_held_out)


def _reading(program: str) -> str:
    return f'local line = io.read("l")\n{program}'


def task_lines(families: Iterable[OpenFamily], variants: int) -> Iterator[dict[str, Any]]:
    """The records of the tasks of `families`."""
    for family in families:
        split = "test" if family.is_held_out else "train"
        for variant in range(variants):
            shown = family.task(variant).model_dump(include={"id", "statement", "tests", "family"})
            yield {**shown, "split": split}


def conversations() -> Iterator[dict[str, Any]]:
    """Conversations of two tries on training tasks of the starter model: the first one at random, the second right."""
    language, random = load_plugins().language("lua"), Random(0)
    environment = CodeFeedback()
    known = [family for family in starter_families() if not family.is_held_out]
    programs = [_reading(program) for program, _ in WAYS.values()]
    with Verifier() as verifier:
        for _ in range(CONVERSATIONS):
            family, first = random.choice(known), random.choice(programs)
            public = environment.public(family.task(random.randrange(1000)))
            told = environment.feedback_on(public, verifier.verify(language, first, public))
            said = [first, told, family.program] if told else [first]
            yield {"messages": _messages(language, public, said)}


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
