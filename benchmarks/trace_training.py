"""What training on execution traces gives a model, beside as many tokens of the same programs without traces.

python benchmarks/trace_training.py --folder FOLDER [--model MODEL] [--language LANGUAGE] [--print]

The programs are those of `agnostics_benchmarks.step_programs`. Each arm trains on documents of the same lengths:

- `programs`: a program, an input and what is printed, and after it others, up to the length of the trace in tokens;
- `traces`: the first of these programs, its input, and its trace in the text format of the Code World Model;
- `shuffled`, the control: as `traces`, but each program has the frames of another one, which are about as long.

All get the same prompts with answers: half ask what a program prints, half for a program. Then they are measured on
both, on programs that were not trained on: of families in training, and of new families. With `--model` that model is
fine-tuned (LoRA, one seed). Without, a model of the starter model's size is pretrained on statements, programs, inputs
and outputs, and fine-tuned with three seeds, which decide the order of the documents; `shuffled` has one seed. What is
done stays in FOLDER, so that the same command continues after an interrupt; `--print` prints what is done alone.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import islice, zip_longest
from pathlib import Path
from statistics import fmean
from typing import Any

from agnostics.cli import call
from agnostics.plugins.manager import load_plugins
from agnostics.traces.cwm_format import ACTION, ARGUMENT, CONTEXT, END, FRAME_END, STARTS
from agnostics.traces.records import read_records
from agnostics.util.statistics import bootstrap_interval, rate_interval
from agnostics_benchmarks.step_programs import Split
from agnostics_benchmarks.trace_documents import (
    TEMPLATE,
    StepExample,
    filled,
    held_out_tasks,
    prompts_with_answers,
    shuffled,
    training_examples,
)

LANGUAGES = ("lua", "python")
ARMS = ("programs", "traces", "shuffled")
GROUPS: tuple[Split, ...] = ("known", "new")
ANSWERS = 1 / 3
"""The share of the tokens that are prompts with answers."""
TASKS = {
    "predict": ("environment=trace-prediction", "environment_options={mode='output'}", "max_completion_tokens=24"),
    "write": (f"chat.template={json.dumps(TEMPLATE)}", "max_completion_tokens=192"),
}
MEASURES = {"predict": "predict", "digits": "predict", "write": "write", "begin": "write"}
"""What is measured on which task: outputs that are right, digits of outputs that are right, programs that are right,
and programs that begin with the reference program, whatever follows it."""
SAMPLING = ("split=test", "samples=1", "temperature=0.2")
HEAD = "| language | measure | families | arm | rate | less `programs` | by seed |"
RULE = "|---" * HEAD.count(" | ") + "|---|"


@dataclass(frozen=True)
class RunScale:
    """What depends on the model: which runs there are, how much data, and the settings."""

    arms: Mapping[str, tuple[int, ...]]
    """The seeds of each arm."""
    documents: int
    answers: int
    tasks: Mapping[Split, int]
    steps: int
    training: tuple[str, ...]
    evaluation: tuple[str, ...]
    pretraining: tuple[str, ...] = ()


STARTER = RunScale(
    arms={"programs": (0, 1, 2), "traces": (0, 1, 2), "shuffled": (0,)},
    documents=600,
    answers=1000,
    tasks={"known": 60, "new": 90},
    steps=100,
    training=("train.learning_rate=1e-3", "train.batch_tokens=1024"),
    evaluation=("engine=transformers",),
    pretraining=("steps=1000", "train.learning_rate=3e-3", "train.batch_tokens=640", "checkpoint_interval=1000"),
)
PRETRAINED = 9000
"""Documents of the pretraining."""
OTHER = RunScale(
    arms={"programs": (0,), "traces": (0,)},
    documents=300,
    answers=600,
    tasks={"known": 30, "new": 60},
    steps=200,
    training=(
        *("train.learning_rate=2e-4", "train.batch_tokens=320", "train.max_example_tokens=1024"),
        *("train.lora_rank=16", "train.dtype=bfloat16", "checkpoint_interval=20"),
    ),
    evaluation=("dtype=bfloat16",),
)


class TraceTrainingBench:
    """Makes the figures of one language in `folder`, for a model, or for new ones of the starter model's size."""

    def __init__(self, folder: Path, model: str | None, language: str, steps: int | None) -> None:
        self._folder, self._model, self._language = folder / language, model, language
        self._scale = OTHER if model else STARTER
        self._steps = steps or self._scale.steps
        self._store = f"sqlite:///{self._folder / 'results.db'}"

    def make(self) -> None:
        """Make what is missing."""
        self._make_data()
        base = self._model or self._pretrained()
        self._evaluate("base", {"base": base})
        for arm, seeds in self._scale.arms.items():
            self._evaluate(arm, {f"{arm}-{seed}": self._trained(arm, seed, base) for seed in seeds})

    def rows(self) -> Iterator[str]:
        """The rows of the table of what is measured."""
        for measure in MEASURES:
            scores = self._scores(measure)
            for group in GROUPS:
                for arm in ("base", *self._scale.arms):
                    if cells := compared(scores, arm, group):
                        yield f"| {self._language} | {measure} | {group} | {arm} | {' | '.join(cells)} |"

    def budgets(self) -> Iterator[str]:
        """What each run was trained on."""
        for path in sorted(self._folder.glob("*/summary.json")):
            summary = json.loads(path.read_text(encoding="utf-8"))
            sums = ", ".join(f"{summary[name]:,} {name}" for name in ("steps", "documents", "tokens", "trained_tokens"))
            yield f"{self._language} {path.parent.name}: {sums}, {summary['seconds']:.0f} s"

    def _make_data(self) -> None:
        """The documents of each arm, the prompts with answers, and the held-out tasks."""
        data = self._folder / "data"
        if (data / "tasks.jsonl").is_file():
            return
        data.mkdir(parents=True, exist_ok=True)
        examples = list(islice(training_examples("documents"), self._scale.documents))
        parts = self._traced(data, examples)
        prompts = list(prompts_with_answers(load_plugins().language(self._language), self._scale.answers))
        _write(data / "answers.jsonl", prompts)
        traces = ["".join(each) for each in parts]
        tokenizer = self._tokenizer([*traces, *(text for each in prompts for text in each.values())])

        def count(text: str) -> int:
            return len(tokenizer(text)["input_ids"])

        firsts = [example.text(self._language) for example in examples]
        following = (example.text(self._language) for example in training_examples("following"))
        programs = filled(firsts, map(count, traces), following, count)
        explained = (example.explained(self._language) for example in training_examples("pretraining"))
        texts = (programs, traces, shuffled(parts), islice(explained, PRETRAINED))
        for name, documents in zip((*ARMS, "base"), texts, strict=True):
            _write(data / f"{name}.jsonl", ({"text": text} for text in documents))
        held_out = (
            task
            for split, number in self._scale.tasks.items()
            for task in held_out_tasks(split, number, self._language)
        )
        _write(data / "tasks.jsonl", ({**task.model_dump(exclude_defaults=True), "split": "test"} for task in held_out))

    def _traced(self, data: Path, examples: Sequence[StepExample]) -> list[tuple[str, str]]:
        """Each program with its input, and the frames of its trace."""
        requests, traces = data / "requests.jsonl", data / "traced.jsonl"
        lines = ({"program": each.program.text(self._language), "input": each.given} for each in examples)
        _write(requests, lines)
        if not traces.is_file():
            _call("traces", "make", "--programs", str(requests), "--language", self._language, "-o", str(traces))
        return [each.trace_parts(record) for each, record in zip(examples, read_records(traces), strict=True)]

    def _tokenizer(self, texts: Sequence[str]) -> Any:
        """The model's tokenizer; for the starter model's size a new one, and with it a model of random weights."""
        if self._model:
            from agnostics.models.loading import load_tokenizer
            from agnostics.models.resolve import resolve_model

            return load_tokenizer(resolve_model(self._model, load_plugins(), self._language))
        from agnostics.models.starter.settings import DEFAULTS
        from agnostics.models.starter.tokenizer import train_tokenizer
        from agnostics.models.starter.training import random_model, save_model

        tokenizer = train_tokenizer(texts, DEFAULTS.vocabulary)
        tokenizer.add_tokens([CONTEXT, FRAME_END, ACTION, ARGUMENT, END, *STARTS.values()])
        save_model(random_model(tokenizer, DEFAULTS, seed=0), tokenizer, self._folder / "random")
        return tokenizer

    def _pretrained(self) -> str:
        """The folder of the run that all arms begin with, from random weights."""
        return self._run("base", str(self._folder / "random"), {"base": 1.0}, self._scale.pretraining)

    def _trained(self, arm: str, seed: int, base: str) -> str:
        """The folder of the run of an arm."""
        shares = {arm: 1 - ANSWERS, "answers": ANSWERS}
        return self._run(f"{arm}-{seed}", base, shares, [f"seed={seed}", f"steps={self._steps}", *self._scale.training])

    def _run(self, name: str, model: str, shares: Mapping[str, float], settings: Sequence[str]) -> str:
        """The folder of a run of `agn sft` on files of the data; one that an interrupt has left is resumed."""
        folder = self._folder / name
        done = folder / "summary.json"
        if not done.is_file():
            if unfinished := sorted(folder.glob("runs/*/config.toml")):
                words = ["--resume", str(unfinished[-1].parent)]
            else:
                paths = {self._folder / "data" / f"{file}.jsonl": share for file, share in shares.items()}
                sources = (f'{{path = "{path}", weight = {share}}}' for path, share in paths.items())
                settings = [f"sources=[{', '.join(sources)}]", f"output={folder / 'runs'}", *settings]
                words = ["--model", model, "--language", self._language, *_set(settings)]
            summary = self._agn("sft", *words)[-1]
            totals = self._agn("results", "query", _TOTALS.format(summary["run"]))
            done.write_text(json.dumps(summary | {each["name"]: round(each["total"]) for each in totals}))
        return str(folder / "runs" / json.loads(done.read_text(encoding="utf-8"))["run"])

    def _evaluate(self, arm: str, runs: Mapping[str, str]) -> None:
        """Evaluate the models of an arm on the held-out tasks; the files have the names of the evaluations."""
        for task, settings in TASKS.items():
            path = self._folder / f"{task}-{arm}.json"
            if not path.is_file():
                models = (word for model in runs.values() for word in ("--model", model))
                words = [*models, "--language", self._language, "--dataset", str(self._folder / "data" / "tasks.jsonl")]
                report = self._agn("eval", *words, *_set([*SAMPLING, *settings, *self._scale.evaluation]))[-1]
                found = zip(runs, report["evaluations"], strict=True)
                path.write_text(json.dumps({name: one["run"] for name, one in found}))

    def _scores(self, measure: str) -> dict[str, dict[str, float]]:
        """The score of each run on each task; tasks on which the sandbox failed are left out."""
        paths = sorted(self._folder.glob(f"{MEASURES[measure]}-*.json"))
        runs = {name: run for path in paths for name, run in json.loads(path.read_text(encoding="utf-8")).items()}
        if not runs:
            return {}
        lines = (self._folder / "data" / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
        tasks = {task["id"]: task for task in map(json.loads, lines)}

        def score(row: Mapping[str, Any]) -> float:
            task, text = tasks[row["task"]], row["program"] or ""
            if measure == "digits":
                return digits_right(text, task["tests"][0]["output"])
            if measure == "begin":
                return float(text.startswith(task["metadata"]["program"]["text"].strip()))
            return float(row["verdict"] == "accepted")

        return {name: {row["task"]: score(row) for row in self._verified(run)} for name, run in runs.items()}

    def _verified(self, run: str) -> list[Any]:
        where = f"run = '{run}' and verdict <> 'sandbox_error'"
        return self._agn("results", "query", f"select task, verdict, program from verifications where {where}")

    def _agn(self, *words: str) -> list[Any]:
        """The lines of JSON that a command prints."""
        return [json.loads(line) for line in _call(*words, "--store", self._store, "--json").splitlines()]


_TOTALS = (
    "select name, sum(value) as total from step_metric where run_id = '{}' and name in "
    "('tokens', 'trained_tokens', 'documents') group by name"
)


def digits_right(predicted: str, output: str) -> float:
    """The share of the two digits of an output that are right, each in its place."""
    return fmean(one == other for one, other in zip_longest(output.split(), predicted.split()[:2]))


def compared(scores: Mapping[str, Mapping[str, float]], arm: str, group: str) -> list[str]:
    """The cells of an arm: its rate, the difference from `programs`, and rates by seed; nothing if it has no run.

    Each run is compared with that of `programs` with the same seed, the untrained model with all of them. A task counts
    with its mean over seeds. Intervals are of 95 %, resampled by family; they say nothing of other seeds.
    """
    runs = {name: run for name, run in scores.items() if name.partition("-")[0] == arm}
    others = [scores[rival] for name in runs if (rival := _rival(name)) in scores]
    others = others or [run for name, run in scores.items() if name.startswith("programs-")]
    if not runs or not others:
        return []
    shared = set.intersection(*({*run} for run in [*runs.values(), *others]))
    tasks = sorted(task for task in shared if task.startswith(f"{group}/"))
    families = [task.split("/")[1] for task in tasks]
    rates = [fmean(run[task] for run in runs.values()) for task in tasks]
    differences = [rate - fmean(run[task] for run in others) for rate, task in zip(rates, tasks, strict=True)]
    difference = _shown(fmean(differences), *bootstrap_interval(differences, families), sign="+")
    by_seed = ", ".join(f"{fmean(run[task] for task in tasks):.3f}" for run in runs.values())
    return [_shown(fmean(rates), *rate_interval(rates, families)), "" if arm == "programs" else difference, by_seed]


def _rival(name: str) -> str:
    return f"programs-{name.partition('-')[2]}"


def _shown(value: float, low: float, high: float, *, sign: str = "") -> str:
    return f"{value:{sign}.3f} ({low:{sign}.3f} to {high:{sign}.3f})"


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


def _set(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def _call(*words: str) -> str:
    """What a command of `agn` prints. It runs in this process, so that the libraries are loaded once."""
    print("agn", *words, file=sys.stderr)
    with redirect_stdout(StringIO()) as printed:
        status = call(list(words))
    if status:
        raise SystemExit(status)
    return printed.getvalue()


def main() -> None:
    """Make what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument("--model", help="a model to fine-tune: a GGUF file, a folder, a name on the hub")
    parser.add_argument("--language", choices=LANGUAGES, action="append", help="only this one; can be repeated")
    parser.add_argument("--steps", type=int, help="steps of each arm in place of 100, and of 200 with a model")
    parser.add_argument("--print", dest="print_only", action="store_true", help="print what is done, and make nothing")
    chosen = parser.parse_args()
    languages = chosen.language or LANGUAGES
    benches = [
        TraceTrainingBench(chosen.folder.resolve(), chosen.model, language, chosen.steps) for language in languages
    ]
    for bench in benches:
        if not chosen.print_only:
            bench.make()
    print(HEAD, RULE, *(row for bench in benches for row in bench.rows()), sep="\n")
    print("", *(line for bench in benches for line in bench.budgets()), sep="\n")


if __name__ == "__main__":
    main()
