"""What the documentation lists is what the code has."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import get_args

import agnostics
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.plugins import specs
from agnostics.plugins.manager import load_plugins
from agnostics.testing.contract import PROGRAMS
from agnostics.train.config import RunConfig
from agnostics.train.metrics import METRICS
from agnostics.train.sft.config import SftConfig
from agnostics.train.sft.design import DesignConfig
from agnostics.train.sft.metrics import SFT_METRICS
from agnostics.types.language import Language
from agnostics.web.verify.metrics import GAUGES, Metrics
from pydantic import BaseModel

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        types = (field.annotation, *get_args(field.annotation))
        if table := next((each for each in types if isinstance(each, type) and issubclass(each, BaseModel)), None):
            yield from keys(table, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_every_setting_of_a_run_is_documented_and_no_other() -> None:
    section = (DOCS / "training.md").read_text().partition("## Settings")[2]
    documented = re.findall(r"^\| `([a-z_.]+)` \|", section, re.MULTILINE)
    assert documented == list(keys(RunConfig))


def test_every_setting_of_an_evaluation_is_documented_and_no_other() -> None:
    section = (DOCS / "evaluation.md").read_text().partition("## Settings")[2]
    assert re.findall(r"^\| `([a-z_.]+)` \|", section, re.MULTILINE) == list(keys(EvaluationSettings))


def test_every_metric_of_a_step_is_documented_as_the_code_describes_it() -> None:
    section = (DOCS / "training.md").read_text().partition("| metric |")[2].partition("## ")[0]
    assert dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", section, re.MULTILINE)) == METRICS


def test_every_setting_and_metric_of_supervised_fine_tuning_is_documented_and_no_other() -> None:
    metrics, _, settings = (DOCS / "sft.md").read_text().partition("| metric |")[2].partition("## Settings")
    assert re.findall(r"^\| `([a-z_0-9.]+)` \|", settings, re.MULTILINE) == list(keys(SftConfig))
    assert dict(re.findall(r"^\| `(\w+)` \| (.*?) \|$", metrics, re.MULTILINE)) == SFT_METRICS


def test_every_setting_of_a_scaling_experiment_is_documented_and_no_other() -> None:
    section = (DOCS / "scaling.md").read_text().partition("| key |")[2].partition("## ")[0]
    assert re.findall(r"^\| `([a-z_.]+)` \|", section, re.MULTILINE) == list(keys(DesignConfig))


def test_every_metric_of_the_service_is_documented_and_no_other() -> None:
    section = (DOCS / "verify-service.md").read_text().partition("## Metrics")[2].partition("## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)", row)}
    metrics = Metrics()
    metrics.add_gauges(dict.fromkeys(GAUGES, lambda: 0.0))
    names = {
        family.name.removeprefix("agnostics_verify_") + ("_total" if family.type == "counter" else "")
        for family in metrics.registry.collect()
        if family.name.startswith("agnostics_verify_")
    }
    assert documented == names


def test_every_hook_is_documented_with_its_arguments_and_no_other() -> None:
    documented = re.findall(r"^\| `(agn_\w+\(.*?\))` \|", (DOCS / "plugins.md").read_text(), re.MULTILINE)
    hooks = {name: hook for name, hook in vars(specs).items() if name.startswith("agn_")}
    assert documented == [f"{name}({', '.join(signature(hook).parameters)})" for name, hook in hooks.items()]


def test_every_key_of_a_language_is_documented_and_no_other() -> None:
    section = (DOCS / "languages.md").read_text().partition("## The keys")[2].partition("## Images")[0]
    documented = [
        key.replace("-", "_")
        for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for key in re.findall(r"`([\w-]+)`", row)
    ]
    assert sorted(documented) == sorted(name for name in Language.model_fields if name != "name")


def test_every_program_of_the_contract_is_documented_as_it_is() -> None:
    section = (DOCS / "languages.md").read_text().partition("## The contract")[2].partition("## The keys")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section, re.MULTILINE))
    assert documented.pop("invalid")
    assert documented == PROGRAMS


def test_every_data_set_is_documented_and_no_other() -> None:
    for path in (DOCS / "datasets.md", DOCS.parent / "plugins" / "datasets" / "README.md"):
        rows = re.findall(r"^\| (`.*?) \|", path.read_text(), re.MULTILINE)
        documented = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
        assert sorted(documented) == sorted(load_plugins().datasets())


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    named = re.findall(r"^ +- .*: ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md"))


def test_every_file_that_a_text_of_the_repository_links_to_exists() -> None:
    for text in [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *ROOT.glob("plugins/*/README.md")]:
        links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text.read_text())
        missing = [link for link in links if not re.match(r"\w+:", link) and not (text.parent / link).exists()]
        assert not missing, f"{text.relative_to(ROOT)} links to {missing}"


def test_the_version_is_written_once_and_packs_depend_on_its_series() -> None:
    series = ".".join(agnostics.__version__.split(".")[:2])
    for path in (*ROOT.glob("plugins/*/pyproject.toml"), ROOT / "benchmarks" / "pyproject.toml"):
        project = tomllib.loads(path.read_text())["project"]
        assert project["dynamic"] == ["version"]
        assert f"agnostics~={series}" in project["dependencies"], path


def test_every_distribution_has_the_same_license() -> None:
    license_ = (ROOT / "LICENSE").read_bytes()
    for path in ROOT.glob("plugins/*/pyproject.toml"):
        assert (path.parent / "LICENSE").read_bytes() == license_, f"cp LICENSE {path.parent.relative_to(ROOT)}"
