"""The package of docs/plugins.md, taken from the page itself, works in a fresh environment beside our wheels."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from distributions import make_environment

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
FILES = re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PARTS = {
    "algorithm": ["agn_algorithms"],
    "callbacks": ["agn_callbacks"],
    "command": ["agn_commands"],
    "dataset": ["agn_datasets"],
    "engine": ["agn_engines"],
    "environment": ["agn_environments"],
    "language": ["agn_languages"],
    "player": ["agn_players"],
    "reward": ["agn_rewards"],
    "sandbox": ["agn_sandboxes"],
}
"""The plugins of the page, with the hooks that each implements."""
USE_OF_EACH_PART = """
import sys
from pathlib import Path

from agnostics import CompletionRequest, EngineSettings, RunInfo, SamplingParams
from agnostics.plugins.manager import load_plugins

folder = Path(sys.argv[1])
plugins = load_plugins()
assert plugins.origin("tcl") == "agnostics-example 1.0"
assert len(list(plugins.dataset("sums")[0].tasks("train"))) == 80
assert plugins.reward("partial-credit").rewards([]) == []
assert plugins.algorithm("raft").advantage_function([1.0, 0.5, 1.0], [1, 1, 1]) == [1.0, 0.0, 1.0]
assert plugins.sandboxes()["unshare"].check() == "util-linux"
assert plugins.player("constant").program == ",[.,]"

logger = plugins.callback("csv")
logger.check_requirements()
logger.run_started(RunInfo(id="r", kind="train", folder=folder))
logger.step_finished(1, {"loss": 0.5}, ())
logger.run_finished("finished", {})
assert (folder / "metrics.csv").read_text() == "1,train/loss,0.5\\n"
plugins.callback("longest").rollouts_finished(1, "train", [])

provider = plugins.engine("silent")
provider.check_requirements()
with provider.open(EngineSettings(folder=folder, stop_ids=(7,), max_length=8, max_num_seqs=2)) as engine:
    engine.load_weights([], 3)
    engine.add_request(0, CompletionRequest((1, 2), 5), SamplingParams(1.0, 4))
    ((request_id, completion),) = engine.step()
    assert (request_id, completion.token_ids, engine.has_unfinished_requests) == (0, (7,), False)
"""


class Environment:
    """A virtual environment with our wheels, and the folder of the page's package."""

    def __init__(self, root: Path, built_wheels: list[Path]) -> None:
        self.folder = root / "agnostics-example"
        self._bin = root / "venv" / "bin"
        outside = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "AGN_", "PYTHON"))}
        self._variables = {**outside, "HOME": str(root), "PATH": f"{self._bin}:{os.environ['PATH']}"}
        make_environment(root / "venv", built_wheels)

    def call(self, *command: str, cwd: Path | None = None) -> str:
        answer = subprocess.run(
            command,
            cwd=cwd or self.folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout
        return answer.stdout

    def agn_json(self, *arguments: str) -> Any:
        *_, last_line = self.call(str(self._bin / "agn"), *arguments, "--json").splitlines()
        return json.loads(last_line)


@pytest.fixture(scope="module")
def environment(built_wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The environment after every command of the page."""
    made = Environment(tmp_path_factory.mktemp("third-party"), built_wheels)
    for name, text in FILES:
        path = made.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made.call("bash", "-e", "-x", "-c", "".join(COMMANDS))
    return made


def test_every_plugin_of_the_page_is_active_without_a_warning(environment: Environment) -> None:
    records = [one for one in environment.agn_json("plugins") if one["distribution"] == "agnostics-example"]
    assert {one["name"].removeprefix("example-"): one["hooks"] for one in records} == PARTS
    assert {(one["status"], one["reason"], one["warning"]) for one in records} == {("active", None, None)}


@pytest.mark.parametrize("sandbox", ["bubblewrap", "unshare"])
def test_the_language_keeps_its_contract_in_our_sandbox_and_in_that_of_the_page(
    environment: Environment, sandbox: str
) -> None:
    (tcl,) = environment.agn_json("languages", "check", "tcl", "--sandbox", sandbox)["languages"]
    assert (tcl["contract"], tcl["broken"], tcl["failed"]) == (16, 0, [])


def test_every_part_is_found_by_its_name_and_works(environment: Environment, tmp_path: Path) -> None:
    environment.call("python", "-c", USE_OF_EACH_PART, str(tmp_path))


def test_the_data_set_is_listed(environment: Environment) -> None:
    assert "sums" in {one["name"] for one in environment.agn_json("datasets")}


def test_the_page_imports_exported_names_only() -> None:
    imports = {line for _, text in FILES for line in text.splitlines() if re.match(r"(from|import) agnostics\b", line)}
    modules = {re.split(r"\s", line)[1] for line in imports}
    assert modules == {"agnostics", "agnostics.testing.suite"}
