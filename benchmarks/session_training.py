"""What training in the environment `session` gives the starter model in Brainfuck, beside rewards by chance.

python benchmarks/session_training.py --folder FOLDER [--steps N]

A problem asks for a character of the input, or for its rest, with some numbers: where it begins, how far each code is
raised, how often each character is printed. The numbers of held-out problems occur in training, but no such
combination does. The protocol allows three submissions, whose replies are the number of hidden tests that passed, and
no runs.

The starter model knows Lua alone. It is first fine-tuned on training problems whose programs are right with a chance
of `RIGHT`, so that it knows right programs and does not prefer them: on statements alone, then on sessions. Then it is
trained with `agn run`, once for solved problems and once, the control, with rewards by chance. What is done stays in
FOLDER, so that the same command continues after an interrupt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from agnostics.plugins.manager import load_plugins
from agnostics.referee.environment import ProtocolSession
from agnostics.referee.replies import submission_reply
from agnostics.referee.state import Event, SessionState

HERE = Path(__file__).parent
PROTOCOL = "submissions: 3\nruns: 0\n"
SUBMISSIONS = 3
TESTS = 6
LETTERS = "abcdefghijklmnopqrstuvwxyz"
STARTS, RAISES, TIMES = range(1, 6), range(5), range(1, 5)
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
OFTEN = ("", "once", "twice", "thrice", "four times")
"""A number has other words in each place: with digits in all of them the model did not learn which was which."""
HELD_OUT = 0.3
"""The share of combinations that are not in training."""
STATEMENTS, CONVERSATIONS = 8000, 600
RIGHT = 0.25
FINE_TUNING = ("train.learning_rate=3e-3", "train.batch_tokens=2048")
CHAT = "chat.template='{statement}'"
"""The reference card is left out: the model is too small to read it."""
TRAINING = (
    *("rollout.prompts_per_step=8", "rollout.group_size=8", "rollout.temperature=1.0"),
    *("rollout.max_completion_tokens=48", "episode.max_turns=3", "evaluation.tasks=0", "train.warmup_epochs=0"),
    *("train.turn_rewards=true", "train.turn_discount=0.4", "train.learning_rate=6e-4", "train.updates_per_batch=2"),
)
EVALUATION = ("samples=4", "temperature=0.7", "max_completion_tokens=48", "language_prompt=true")
REWARDS = {"solved": "accepted", "chance": f"{HERE / 'random_reward.py'}:random_reward"}
LIMIT_S = 6 * 3600


@dataclass(frozen=True)
class LetterProblem:
    """A problem: from the character at `start`, the first one or all, raised by `up`, each printed `times` times."""

    is_rest: bool
    start: int
    up: int
    times: int

    @property
    def statement(self) -> str:
        """The statement."""
        part = "every character from" if self.is_rest else "only"
        return f"Print {part} the {ORDINALS[self.start]}, raised by {self.up}, {OFTEN[self.times]}."

    @property
    def program(self) -> str:
        """A right program."""
        body = "+" * self.up + "." * self.times
        return "," * self.start + (f"[{body},]" if self.is_rest else body)

    @property
    def name(self) -> str:
        """The id."""
        return "".join(LETTERS[number] for number in (self.is_rest, self.start, self.up, self.times))

    def output(self, given: str) -> str:
        """What a right program prints."""
        chosen = given[self.start - 1 :] if self.is_rest else given[self.start - 1]
        return "".join(chr(ord(letter) + self.up) * self.times for letter in chosen)

    def tests(self) -> list[dict[str, str]]:
        """The hidden tests."""
        random = Random(self.name)
        inputs = ["".join(random.choices(LETTERS, k=random.randint(6, 9))) for _ in range(TESTS)]
        return [{"input": given, "output": self.output(given)} for given in inputs]


def problems() -> tuple[list[LetterProblem], list[LetterProblem]]:
    """The problems of training, and the held-out ones."""
    kinds = (False, True)
    every = [LetterProblem(kind, *numbers) for kind in kinds for numbers in _numbers()]
    Random(0).shuffle(every)
    held_out = round(HELD_OUT * len(every))
    return every[held_out:], every[:held_out]


def _numbers() -> Iterator[tuple[int, int, int]]:
    return ((start, up, times) for start in STARTS for up in RAISES for times in TIMES)


def task_lines() -> Iterator[dict[str, Any]]:
    """The records of the tasks."""
    for split, chosen in zip(("train", "test"), problems(), strict=True):
        for problem in chosen:
            yield {"id": problem.name, "statement": problem.statement, "tests": problem.tests(), "split": split}


def conversations(environment: ProtocolSession) -> Iterator[dict[str, Any]]:
    """Sessions of training problems, whose submissions are right by chance."""
    language, random, (known, _) = load_plugins().language("brainfuck"), Random(1), problems()
    system = environment.system_prompt(language, "text")
    for _ in range(CONVERSATIONS):
        problem = random.choice(known)
        opening = [{"role": "system", "content": system}, {"role": "user", "content": problem.statement}]
        yield {"messages": [*opening, *_submissions(environment, problem, random)]}


def statements() -> Iterator[dict[str, Any]]:
    """Statements of training problems without a session, each with a program that is right by chance."""
    random, (known, _) = Random(2), problems()
    for _ in range(STATEMENTS):
        problem = random.choice(known)
        yield {"prompt": problem.statement, "completion": _message(_tried(problem, random))}


def _tried(problem: LetterProblem, random: Random) -> LetterProblem:
    """The problem that a submission solves: the right one with the chance `RIGHT`."""
    return problem if random.random() < RIGHT else _slip(problem, random)


def _message(problem: LetterProblem) -> str:
    return f"```brainfuck\n{problem.program}\n```"


def _submissions(environment: ProtocolSession, problem: LetterProblem, random: Random) -> Iterator[dict[str, str]]:
    state = SessionState.start(environment.rules, [problem.name]).after(Event(0, "fetch", 0))
    while not state.all_done:
        tried = _tried(problem, random)
        yield {"role": "assistant", "content": _message(tried)}
        passed = sum(tried.output(test["input"]) == test["output"] for test in problem.tests())
        data = {"passed": passed, "total": TESTS, "verdicts": []}
        state = state.after(Event(state.sequence, "submit", 0, data))
        if not state.all_done:
            reply = submission_reply(state, problem.name, state.problems[0].submissions[-1])
            yield {"role": "user", "content": reply.text}


def _slip(problem: LetterProblem, random: Random) -> LetterProblem:
    """The problem that a wrong program solves: one number is another one."""
    name, values = random.choice([("start", STARTS), ("up", RAISES), ("times", TIMES)])
    others = [value for value in values if value != getattr(problem, name)]
    return replace(problem, **{name: random.choice(others)})


class SessionBench:
    """Makes the rates in `folder`."""

    def __init__(self, folder: Path, steps: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._steps = folder, steps
        self._store, self._tasks = folder / "results.db", folder / "tasks.jsonl"
        self._protocol = folder / "three.yaml"
        self._protocol.write_text(PROTOCOL, encoding="utf-8")
        self._tasks.write_text(_lines(task_lines()), encoding="utf-8")

    def results(self, split: str) -> dict[str, Any]:
        """The shares of problems of `split` that each model solves: at the first submission, and within three."""
        models = {"start": self._fine_tuned()}
        if split == "test":
            models |= {name: self._trained(name, models["start"], reward) for name, reward in REWARDS.items()}
        return {name: self._evaluated(name, model, split) for name, model in models.items()}

    def _fine_tuned(self) -> str:
        sessions = conversations(ProtocolSession(protocol=str(self._protocol)))
        model = "starter"
        for name, records in {"statements": statements(), "start": sessions}.items():
            data = self._folder / f"{name}.jsonl"
            if not data.is_file():
                data.write_text(_lines(records), encoding="utf-8")
            model = self._run(name, "sft", "--model", model, "--data", str(data), *_set(FINE_TUNING))
        return model

    def _trained(self, name: str, start: str, reward: str) -> str:
        words = ("--model", start, "--steps", str(self._steps), *_set([*TRAINING, f"reward={reward}"]))
        return self._run(name, "run", *words, *self._session())

    def _run(self, name: str, command: str, *words: str) -> str:
        """The folder of a training run; one that an interrupt has left is resumed."""
        folder = self._folder / name
        done = folder / "summary.json"
        if not done.is_file():
            folder.mkdir(exist_ok=True)
            unfinished = sorted(folder.glob("runs/*/config.toml"))
            resumed = ("--resume", str(unfinished[-1].parent)) if unfinished else ()
            answer = self._agn(command, *(resumed or (*words, *_set([f"output={folder / 'runs'}"]))))
            done.write_text(json.dumps(answer), encoding="utf-8")
        return str(folder / "runs" / json.loads(done.read_text(encoding="utf-8"))["run"])

    def _evaluated(self, name: str, model: str, split: str) -> dict[str, Any]:
        path = self._folder / f"evaluation-{name}-{split}.json"
        if not path.is_file():
            rates = {turns: self._rate(model, split, turns) for turns in (1, SUBMISSIONS)}
            path.write_text(json.dumps(rates), encoding="utf-8")
        return dict(json.loads(path.read_text(encoding="utf-8")))

    def _rate(self, model: str, split: str, turns: int) -> Any:
        settings = _set([*EVALUATION, f"split={split}", f"episode.max_turns={turns}"])
        return self._agn("eval", "--model", model, *settings, *self._session())["evaluations"][0]["rates"]["pass@1"]

    def _session(self) -> list[str]:
        words = ["--language", "brainfuck", "--dataset", str(self._tasks), "--environment", "session"]
        return [*words, *_set([CHAT, f"environment_options={{protocol='{self._protocol}'}}"])]

    def _agn(self, *words: str) -> Any:
        command = [sys.executable, "-m", "agnostics", *words, "--store", f"sqlite:///{self._store}", "--json"]
        print(" ".join(command), file=sys.stderr)
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
        return json.loads(answer.stdout.splitlines()[-1])


def _lines(records: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def _set(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def main() -> None:
    """Make what is missing, and print the rates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--split", default="test", help="train: the start alone, on the problems of training")
    arguments = parser.parse_args()
    print(json.dumps(SessionBench(arguments.folder.resolve(), arguments.steps).results(arguments.split), indent=2))


if __name__ == "__main__":
    main()
