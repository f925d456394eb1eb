"""A real code model before and after `agn run`, on task families that were not trained on, beside its controls.

python benchmarks/real_model.py MODEL --folder FOLDER [--mbpp FILE] [--only TEXT] [--set KEY=VALUE] [--print]

Every row is one or more commands of `agn`. What is done stays in FOLDER, so that the same command continues after an
interrupt, also within a run; `--only` makes the rows whose name holds TEXT, and `--print` prints the table of those
that are done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LANGUAGES = ("lua", "r", "julia", "ocaml", "fortran")
SEEDS = (0, 1, 2)
TRAINING = HERE.parent / "examples" / "qwen2.5-coder-0.5b-lua.toml"
"""The settings of every run but its language, prompt, data set and seed.

Its reward is `tests_passed`. With `accepted` 70 of 84 groups of the untrained model in Lua had no signal, with this 27
of 64. With `steps`, 84 of 204, it learnt sooner not to fail with an error than to solve tasks, by programs that read
nothing.
"""
PARTIAL_REWARDS = {"ocaml": "compiling", "fortran": "compiling", "r": "running", "julia": "running"}
"""The rewards, in benchmarks/partial_rewards.py, of the languages in which the untrained model solves so few tasks that
most groups have no signal: there prompts are picked by their pass rate, too."""
FINE_TUNING = ("train.lora_rank=16", "train.dtype=bfloat16", "train.learning_rate=1e-4")
EVALUATION = (
    *("tasks=104", "samples=2", "temperature=0.8", "max_completion_tokens=160", "dtype=bfloat16"),
    "language_prompt=true",
)
OF_EVALUATION = {"tasks", "samples", "engine", "max_completion_tokens"}
"""Settings of `agn eval` that `agn run` has under another name."""
LIMIT_S = 24 * 3600
HEAD = "| language | tasks | training | seed | before | after | gain |"
RULE = "|---" * HEAD.count(" | ") + "|---|"
CONTROLS = ("plain-prompt", "sft", "rejection-sampling", "random")
EVALUATED = {"plain-prompt", "sft", "rejection-sampling", "transfer"}
"""The rows that `agn eval` makes."""
FEEDBACK = {"code-feedback": "difference", "blank-feedback": "none"}
"""The rows trained on episodes of up to three turns, and what the policy is told of a program that fails."""
EPISODES = (
    "environment=code-feedback",
    "train.turn_rewards=true",
    "train.turn_discount=0.4",
    "rollout.prompts_per_step=4",
)
"""Their settings; half as many prompts, since an episode has up to three completions."""
SAMPLES = ("split=train", "tasks=400", "samples=8", "temperature=0.8", "max_completion_tokens=160", "dtype=bfloat16")
"""As many completions as a run trains on."""


@dataclass(frozen=True)
class ModelRow:
    """A row of the table: the `training` of the model, and the data set of its held-out tasks.

    `transfer` is the model that grpo has trained on `starter-families`. `sft` is fine-tuned on the accepted programs of
    grpo's run, `rejection-sampling` on those among as many of the untrained model. `plain-prompt` is the untrained
    model without the example in its prompt. `code-feedback` is trained on episodes, and `blank-feedback` is its
    control, whose feedback says nothing: their figures are of tasks solved within three turns.
    """

    language: str
    dataset: str
    training: str
    seed: int = 0

    @property
    def name(self) -> str:
        """The row's folder."""
        return f"{self.language}-{self.dataset}-{self.training}-{self.seed}"


ROWS = (
    *(ModelRow(language, "starter-families", "grpo") for language in LANGUAGES),
    *(ModelRow("lua", "starter-families", "grpo", seed) for seed in SEEDS[1:]),
    *(ModelRow("lua", "starter-families", training) for training in CONTROLS),
    *(ModelRow("lua", "starter-families", training) for training in FEEDBACK),
    *(ModelRow(language, "mbpp-stdio", "transfer") for language in LANGUAGES),
    ModelRow("lua", "mbpp-stdio", "grpo"),
)
"""In the order in which they are made."""


class Bench:
    """Makes rows with `model` in `folder`; `sets` change settings of every command, for a trial.

    `mbpp` is MBPP's file, which the rows of `mbpp-stdio` need.
    """

    def __init__(self, model: str, folder: Path, mbpp: str, sets: Sequence[str]) -> None:
        self._model, self._folder, self._mbpp, self._sets = model, folder, mbpp, sets
        folder.mkdir(parents=True, exist_ok=True)
        self._store = f"sqlite:///{(folder / 'results.db').resolve()}"

    def make(self, row: ModelRow) -> None:
        """Make a row, or go on with it; nothing is done for one that is there."""
        if self.result(row):
            return
        folder = self._folder / row.name
        folder.mkdir(exist_ok=True)
        made = self._evaluated(row) if row.training in EVALUATED else self._trained(row, folder)
        (folder / "result.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")

    def result(self, row: ModelRow) -> dict[str, Any] | None:
        """The figures of a row that is done."""
        path = self._folder / row.name / "result.json"
        found: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        return found

    def _trained(self, row: ModelRow, folder: Path) -> dict[str, Any]:
        """The summary of `agn run`; a run that an interrupt has left is resumed."""
        unfinished = sorted(folder.glob("runs/*/config.toml"))
        if unfinished:
            words = ["--resume", str(unfinished[-1].parent)]
        else:
            own = [self._chat(row), f"seed={row.seed}", f"output={folder / 'runs'}", *self._signal(row)]
            named = ["--language", row.language, "--dataset", self._dataset(row), "--model", self._model]
            words = [str(TRAINING), *named, *_set([*own, *self._trial(evaluation=False)])]
        summary = self._agn("run", *words)
        return {**summary, "gain": self._agn("results", "show", summary["run"])["gain"]}

    def _signal(self, row: ModelRow) -> list[str]:
        """The settings that decide which groups have a signal, where they differ from `TRAINING`."""
        if row.training == "random":
            return [f"reward={HERE / 'random_reward.py'}:random_reward"]
        if row.training in FEEDBACK:
            return [*EPISODES, f"environment_options={{feedback='{FEEDBACK[row.training]}'}}"]
        if name := PARTIAL_REWARDS.get(row.language):
            reward = f"reward={HERE / 'partial_rewards.py'}:{name}"
            return [reward, "rollout.online_difficulty_filtering=true"]
        return []

    def _evaluated(self, row: ModelRow) -> dict[str, Any]:
        """The report of `agn eval` on the same held-out tasks: of the untrained model, then of the trained one."""
        settings, models = list(EVALUATION), [self._model]
        if row.training in {"sft", "rejection-sampling"}:
            models.append(self._fine_tuned(row))
        elif row.training == "transfer":
            folder = self._folder / self._reinforced(row).name / "runs"
            models.append(str(folder / self._run_of(self._reinforced(row))))
        if row.training != "plain-prompt":
            settings.append(self._chat(row))
        settings += self._trial(evaluation=True)
        named = (word for model in models for word in ("--model", model))
        words = ["--language", row.language, "--dataset", self._dataset(row), *named, *_set(settings)]
        report: dict[str, Any] = self._agn("eval", *words)
        return report

    def _fine_tuned(self, row: ModelRow) -> str:
        """The model, fine-tuned on the accepted programs of the same language's run with GRPO, or of its own."""
        folder = self._folder / row.name
        data = folder / "accepted.jsonl"
        if unfinished := sorted(folder.glob("runs/*/config.toml")):
            words = ["--resume", str(unfinished[-1].parent)]
        else:
            if not data.is_file():
                source = self._sampled(row) if row.training != "sft" else self._run_of(self._reinforced(row))
                _call("results", "export", source, "--format", "sft", "-o", str(data), "--store", self._store)
            settings = [*FINE_TUNING, f"output={folder / 'runs'}"]
            words = ["--model", self._model, "--data", str(data), *_set(settings)]
        run: str = self._agn("sft", *words)["run"]
        return str(folder / "runs" / run)

    def _sampled(self, row: ModelRow) -> str:
        """An evaluation of the untrained model on training tasks, in the prompt of training."""
        settings = [*SAMPLES, "language_prompt=true", self._chat(row)]
        words = ["--language", row.language, "--dataset", self._dataset(row), "--model", self._model, *_set(settings)]
        run: str = self._agn("eval", *words)["evaluations"][0]["run"]
        return f"{run}:eval"  # without the phase only programs of training are exported

    def _reinforced(self, row: ModelRow) -> ModelRow:
        """The row of the run with GRPO that `row` continues from."""
        return ModelRow(row.language, "starter-families", "grpo", row.seed)

    def _run_of(self, row: ModelRow) -> str:
        """The run of a row that is done."""
        result = self.result(row)
        if result is None:
            sys.exit(f"the row {row.name} has to be made first")
        run: str = result["run"]
        return run

    def _trial(self, *, evaluation: bool) -> list[str]:
        """The changed settings that `agn eval` has too, or those of `agn run`."""
        shared = {"sandbox"}
        return [
            setting
            for setting in self._sets
            if (key := setting.partition("=")[0]) in shared or (key in OF_EVALUATION) == evaluation
        ]

    def _dataset(self, row: ModelRow) -> str:
        return f"{row.dataset}:{self._mbpp}" if row.dataset == "mbpp-stdio" else row.dataset

    def _chat(self, row: ModelRow) -> str:
        template = (HERE / "prompts" / f"{row.language}.txt").read_text(encoding="utf-8").strip()
        return f"chat.template={json.dumps(template)}"

    def _agn(self, *words: str) -> Any:
        return json.loads(_call(*words, "--store", self._store, "--json").splitlines()[-1])


def _set(settings: Sequence[str]) -> Iterator[str]:
    for setting in settings:
        yield from ("--set", setting)


def _call(*words: str) -> str:
    command = [sys.executable, "-m", "agnostics", *words]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, check=False)
    if answer.returncode:
        sys.exit(f"agn {words[0]} ended with status {answer.returncode}; the same command continues")
    return answer.stdout


def _line(row: ModelRow, result: dict[str, Any]) -> str:
    """The row as Markdown."""
    cells = [row.language, row.dataset, row.training, str(row.seed)]
    if "gain" in result:
        scores = [_score(result[f"pass_at_1_{when}"], *result[f"interval_{when}"]) for when in ("before", "after")]
        gains = [result["gain"]]
    else:
        rates = [evaluation["rates"]["pass@1"] for evaluation in result["evaluations"]]
        scores = [_score(rate["rate"], rate["low"], rate["high"]) for rate in rates]
        gains = result["differences"]
    gain = [_score(gain["mean"], gain["low"], gain["high"]) for gain in gains] or [""]
    cells += [*scores, *[""] * (2 - len(scores)), *gain]
    return f"| {' | '.join(cells)} |"


def _score(value: float, low: float, high: float) -> str:
    return f"{value:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Make the rows that are asked for, and print those that are done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="the model: a GGUF file, a folder, a name on the hub")
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument("--mbpp", default="mbpp.jsonl", help="MBPP's file")
    parser.add_argument("--only", default="", help="make the rows whose name holds this text")
    parser.add_argument("--set", dest="sets", action="append", default=[], help="change a setting of every run")
    parser.add_argument("--print", dest="print_only", action="store_true", help="print what is done, and make nothing")
    chosen = parser.parse_args()
    bench = Bench(chosen.model, chosen.folder.resolve(), chosen.mbpp, chosen.sets)
    for row in ROWS:
        if chosen.only in row.name and not chosen.print_only:
            print(row.name, file=sys.stderr, flush=True)
            bench.make(row)
    print(HEAD, RULE, *(_line(row, made) for row in ROWS if (made := bench.result(row))), sep="\n")


if __name__ == "__main__":
    main()
