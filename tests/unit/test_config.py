"""The configuration of a run: TOML, --set, errors with the nearest name, and a file that repeats the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from agnostics.evaluate.settings import EvaluationSettings
from agnostics.inference import provider
from agnostics.store.database import default_url, display_url, parse_url, store_argument, without_password
from agnostics.train.config import RolloutConfig, RunConfig, load_config, to_toml
from agnostics.types.errors import UsageError
from agnostics.util.settings import load_settings

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def test_defaults_are_the_papers() -> None:
    config = RunConfig()
    assert (config.rollout.group_size, config.rollout.prompts_per_step, config.rollout.temperature) == (32, 4, 0.7)
    assert (config.train.learning_rate, config.train.warmup_epochs) == (5e-6, 0.1)
    assert config.rollout.max_completion_tokens == 1024


def test_written_configuration_reads_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    config = load_config(None, ["train.clip_high=0.28", 'dataset=a "quoted" name\\here', "seed=-3"], {"steps": 7})
    path.write_text(to_toml(config), encoding="utf-8")
    assert load_config(path, [], {}) == config


def test_set_goes_over_options_and_options_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text("steps = 1\nseed = 1\nlanguage = 'r'\n", encoding="utf-8")
    config = load_config(path, ["steps=3"], {"steps": 2, "seed": 2, "language": None})
    assert (config.steps, config.seed, config.language) == (3, 2, "r")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.clip_hihg=1", "did you mean 'train.clip_high'"),
        ("modell=x", "did you mean 'model'"),
        ("steps=0", "steps"),
        ("train.learning_rate=fast", "train.learning_rate"),
        ("train.learning_rate.x=1", "is a value, not a table"),
        ("steps", "expected key=value"),
    ],
)
def test_a_wrong_key_or_value_is_named(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("?", r"\?")):
        load_config(None, ["train.learning_rate=1e-5", override], {})


def test_settings_that_do_not_go_together_are_named() -> None:
    with pytest.raises(UsageError, match=r'^rollout: separate_process = true needs engine = "vllm"$'):
        load_config(None, ["rollout.engine=transformers", "rollout.separate_process=true"], {})
    with pytest.raises(UsageError, match=r"^rollout: engine_processes > 1 needs separate_process = true$"):
        load_config(None, ["rollout.engine=vllm", "rollout.engine_processes=2"], {})
    for other in ("rollout.engine=transformers", "rollout.separate_process=true"):
        with pytest.raises(UsageError, match=r"^rollout: sleep_mode = true needs separate_process = false"):
            load_config(None, ["rollout.engine=vllm", other, "rollout.sleep_mode=true"], {})
    with pytest.raises(UsageError, match=r'engine_processes > 1 needs engine = "vllm"$'):
        load_settings(EvaluationSettings, None, ["engine=transformers", "engine_processes=2"], {})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["rollout.engine=transformers", "train.lora_rank=8"], 'rollout: serve_adapter = true needs engine = "vllm"'),
        (["rollout.engine=vllm"], "rollout.serve_adapter = true needs train.lora_rank from 1 to 512"),
        (
            ["rollout.engine=vllm", "train.lora_rank=513"],
            "rollout.serve_adapter = true needs train.lora_rank from 1 to 512",
        ),
    ],
)
def test_an_adapter_is_served_by_vllm_and_has_a_rank_that_it_takes(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        load_config(None, ["rollout.serve_adapter=true", *overrides], {})
    assert str(error.value) == message


@pytest.mark.parametrize("text", ["a = [", "train = 3", "[train]\nfoo = 1"])
def test_a_wrong_file_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        load_config(path, [], {})


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such configuration"):
        load_config(tmp_path / "none.toml", [], {})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_configuration(path: Path) -> None:
    load_config(path, [], {})


def test_a_command_names_the_store_unless_it_is_the_default() -> None:
    assert store_argument(default_url()) == ""
    assert store_argument("my runs.db") == " --store 'my runs.db'"
    assert store_argument("postgresql://agn:s%40fe@db/runs") == " --store postgresql://agn@db/runs"


@pytest.mark.parametrize(
    ("store", "written"),
    [
        ("runs.db", "runs.db"),
        ("sqlite:////tmp/runs.db", "sqlite:////tmp/runs.db"),
        ("postgresql://agn@/runs?host=/run/postgresql", "postgresql://agn@/runs?host=/run/postgresql"),
        ("postgresql://agn:s%40fe@db:5433/runs?sslmode=require", "postgresql://agn@db:5433/runs?sslmode=require"),
        ("postgresql+psycopg://db/runs?user=agn&password=s%40fe", "postgresql+psycopg://db/runs?user=agn"),
        ("postgresql://db/runs?sslpassword=s%40fe", "postgresql://db/runs"),
    ],
)
def test_the_stores_password_is_written_nowhere(store: str, written: str, tmp_path: Path) -> None:
    assert without_password(store) == written
    assert "fe" not in display_url(parse_url(store))
    path = tmp_path / "config.toml"
    path.write_text(to_toml(RunConfig(store=store)), encoding="utf-8")
    assert "s%40fe" not in path.read_text()
    assert load_config(path, [], {}).store == written
    assert load_config(path, [], {"store": store}).store == store


def test_what_a_run_names_is_no_path_whatever_lies_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("starter", "lua", "apps", "mine", "codeforces"):
        (tmp_path / folder).mkdir()
    for file in ("mine.yaml", "tasks.jsonl"):
        (tmp_path / file).touch()
    for given, resolved in {
        ("lua", "starter", "starter"): ("lua", "starter", "starter"),
        ("lua", "org/model", "apps"): ("lua", "org/model", "apps"),
        ("mine.yaml", "mine", "tasks.jsonl"): (f"{tmp_path}/mine.yaml", f"{tmp_path}/mine", f"{tmp_path}/tasks.jsonl"),
        ("none.yaml", "./starter", "apps:codeforces"): (
            "none.yaml",
            f"{tmp_path}/starter",
            f"apps:{tmp_path}/codeforces",
        ),
    }.items():
        language, model, dataset = given
        settings = EvaluationSettings(language=language, model=model, dataset=dataset).resolved()
        assert (settings.language, settings.model, settings.dataset) == resolved


@pytest.mark.parametrize(("installed", "engine"), [(object(), "vllm"), (None, "transformers")])
def test_vllm_is_the_default_engine_only_where_it_is_installed(
    installed: object, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "find_spec", lambda _: installed)
    assert RolloutConfig().engine == engine
    assert load_settings(EvaluationSettings, None, [], {}).engine == engine
