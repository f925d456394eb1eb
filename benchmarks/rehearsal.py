"""What a model forgets when it is fine-tuned on another language, with rehearsal of the old one and without.

python benchmarks/rehearsal.py --folder FOLDER [--new LANGUAGE] [--rehearsal SHARE]

The starter model is fine-tuned on right programs in Lua, and then on right programs in another language that it has
never seen: once on these alone, and once with a share of the tokens from the Lua programs. All are evaluated on
held-out tasks in Lua, and in the other language. What is done stays in FOLDER, so that the same command continues after
an interrupt.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agnostics.plugins.manager import load_plugins
from agnostics.rollout.prompts import ChatSettings

OLD = "lua"
EXAMPLES = {True: 600, False: 400}
"""Of the old language, and of the other one."""
EPOCHS = 3
"""Of the other language."""
TEMPLATE = "In {language}:\n\n{statement}"
"""The language's own prompt is left out: it would be most of the tokens."""
TRAINING = ("train.learning_rate=1e-3", "train.batch_tokens=2048")
EVALUATION = (
    "engine=transformers",
    "split=test",
    "tasks=201",
    "samples=1",
    "temperature=0.7",
    "max_completion_tokens=256",
)
LIMIT_S = 3600


class RehearsalBench:
    """Makes the rates in `folder`."""

    def __init__(self, folder: Path, new: str, rehearsal: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._new, self._rehearsal = folder, new, rehearsal

    def results(self) -> dict[str, Any]:
        """The evaluations of the three models in both languages, and their differences from the first."""
        old, new = self._data(OLD), self._data(self._new)
        start = self._tuned("start", "starter", [{"path": old}])
        trained: dict[str, Any] = {"path": new, "epochs": EPOCHS}
        with_rehearsal = [trained, {"path": old, "rehearsal": self._rehearsal}]
        models = {
            "start": start,
            "without": self._tuned("without", start, [trained]),
            "with": self._tuned("with", start, with_rehearsal),
        }
        return {language: self._evaluated(language, models) for language in (OLD, self._new)}

    def _data(self, language: str) -> str:
        """The file of right programs for training tasks in a language."""
        path = self._folder / f"{language}.jsonl"
        path.write_text(
            "".join(f"{json.dumps(one)}\n" for one in islice(_examples(language), EXAMPLES[language == OLD]))
        )
        return str(path)

    def _tuned(self, name: str, model: str, sources: Sequence[dict[str, Any]]) -> str:
        """The folder of a run of `agn sft`."""
        done = self._folder / f"{name}.json"
        if not done.is_file():
            settings = [f"sources={_toml(sources)}", f"output={self._folder / 'runs'}", *TRAINING]
            done.write_text(json.dumps(self._agn("sft", "--model", model, "--language", OLD, *_set(settings))))
        return str(self._folder / "runs" / json.loads(done.read_text())["run"])

    def _evaluated(self, language: str, models: dict[str, str]) -> Any:
        path = self._folder / f"evaluation-{language}.json"
        if not path.is_file():
            words = [word for model in models.values() for word in ("--model", model)]
            settings = _set([*EVALUATION, f"chat.template={json.dumps(TEMPLATE)}"])
            answer = self._agn("eval", *words, "--language", language, "--dataset", "starter", *settings)
            path.write_text(json.dumps(answer))
        return json.loads(path.read_text())

    def _agn(self, *words: str) -> Any:
        store = f"sqlite:///{self._folder / 'results.db'}"
        command = [sys.executable, "-m", "agnostics", *words, "--store", store, "--json"]
        print(" ".join(command), file=sys.stderr)
        answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, timeout=LIMIT_S)
        return json.loads(answer.stdout.splitlines()[-1])


def _examples(name: str) -> Iterator[dict[str, str]]:
    """Right programs for training tasks, with their prompts."""
    plugins = load_plugins()
    language, (dataset, _) = plugins.language(name), plugins.dataset("starter")
    chat = ChatSettings(template=TEMPLATE)
    for task in dataset.tasks("train", seed=0):
        program = language.reference_for(task)
        if program is not None:
            yield {"prompt": chat.message(language, task), "completion": f"```{name}\n{program}```"}


def _toml(sources: Sequence[dict[str, Any]]) -> str:
    tables = (", ".join(f"{key} = {json.dumps(value)}" for key, value in source.items()) for source in sources)
    return f"[{', '.join(f'{{{table}}}' for table in tables)}]"


def _set(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def main() -> None:
    """Make what is missing, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where runs and results are kept")
    parser.add_argument("--new", default="ocaml", help="the other language")
    parser.add_argument("--rehearsal", type=float, default=0.5, help="the share of tokens in the old language")
    arguments = parser.parse_args()
    bench = RehearsalBench(arguments.folder.resolve(), arguments.new, arguments.rehearsal)
    print(json.dumps(bench.results(), indent=2))


if __name__ == "__main__":
    main()
