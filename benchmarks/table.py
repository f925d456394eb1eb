"""The table of docs/results.md: the starter model before and after `agn run`, in each language, on held-out tasks.

python benchmarks/table.py [--seed N] [--write docs/results.md] [LANGUAGE...]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFIG = Path(__file__).parent.parent / "examples" / "starter-lua.toml"
COMPILED = ("rollout.prompts_per_step=12",)
"""For languages whose compiler takes as long as a step's sampling."""
SLOW_START = (
    "rollout.prompts_per_step=8",
    "rollout.group_size=16",
    "train.updates_per_batch=4",
    "evaluation.samples=1",
)
"""For languages whose interpreter takes a tenth of a second to start, once for each of a task's six tests. In large
groups more answers hold a program that has been run."""
LANGUAGES: dict[str, tuple[str, ...]] = {
    "lua": (),
    "fortran": ("steps=26", *COMPILED),
    "r": ("steps=19", *SLOW_START),
    "julia": ("steps=10", *SLOW_START),
    "ocaml": ("steps=36", *COMPILED),
}
"""The five languages, and where one differs from the configuration: with its starter model, each is to take less than
ten minutes."""
LIMIT_S = 3600
HEAD = "| language | programs | before | after | starter model | run |"
RULE = "|---" * HEAD.count(" | ") + "|---|"
BEGIN, END = "<!-- begin table -->\n", "<!-- end table -->\n"


@dataclass(frozen=True)
class Row:
    """One language: what `agn run --json` said, and how long it and the making of its starter model took."""

    language: str
    summary: dict[str, Any]
    starter_s: float
    run_s: float

    def __str__(self) -> str:
        return (
            f"| {self.language} | {self.summary['completions']} | {self._score('before')} | {self._score('after')} "
            f"| {self.starter_s:.0f} s | {self.run_s:.0f} s |"
        )

    def _score(self, when: str) -> str:
        low, high = self.summary[f"interval_{when}"]
        return f"{self.summary[f'pass_at_1_{when}']:.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Train in each language, print the table, and write it where it is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", default=list(LANGUAGES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", type=Path, help="a page that holds the table between its two marks")
    chosen = parser.parse_args()
    _agn("languages", "build", *chosen.languages)  # once a machine, so in no language's time
    print(HEAD, RULE, sep="\n", flush=True)
    for language in chosen.languages:
        row = str(_trained(language, chosen.seed))
        print(row, flush=True)
        if chosen.write:
            _write(chosen.write, language, row)


def _trained(language: str, seed: int) -> Row:
    started = time.monotonic()
    _agn("model", "bootstrap", "--language", language, "--seed", str(seed))
    made = time.monotonic()
    sets = [part for setting in (*LANGUAGES.get(language, ()), f"seed={seed}") for part in ("--set", setting)]
    summary = json.loads(_agn("run", str(CONFIG), "--language", language, "--json", *sets))
    return Row(language, summary, made - started, time.monotonic() - made)


def _agn(*words: str) -> str:
    command = [sys.executable, "-m", "agnostics", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S).stdout


def _write(page: Path, language: str, row: str) -> None:
    """Put the row in the place of its language's in the page's table; the others stay as they are."""
    head, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    table, _, tail = rest.partition(END)
    rows = {line.split("|")[1].strip(): line for line in table.splitlines()[2:]} | {language: row}
    lines = "\n".join([HEAD, RULE, *rows.values()])
    page.write_text(f"{head}{BEGIN}{lines}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
