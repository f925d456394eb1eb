"""The algorithms by name: what each combines, who may bring one, and how a configuration changes one."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from agnostics.algorithms.algorithm import Algorithm
from agnostics.algorithms.grpo import GRPO
from agnostics.plugins import builtin
from agnostics.plugins.manager import load_plugins
from agnostics.train.config import load_config
from agnostics.train.setup import check_names, configured_algorithm, with_algorithm_settings
from agnostics.types.errors import UsageError

NAMES = ["grpo", "dr_grpo", "dapo", "gspo", "cwm", "cispo", "rloo", "reinforce++", "reinforce++-baseline"]


def test_built_in_algorithms_are_registered_as_a_plugin_registers_its_own() -> None:
    assert [algorithm.name for algorithm in builtin.agn_algorithms()] == NAMES
    assert set(NAMES) <= set(load_plugins().algorithms())


def test_an_unknown_algorithm_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(UsageError, match="unknown algorithm 'gropo'; did you mean 'grpo'"):
        load_plugins().algorithm("gropo")


def test_the_default_is_the_papers() -> None:
    assert (GRPO.clip_low, GRPO.clip_high, GRPO.normalize_by_std, GRPO.kl_coef) == (0.2, 0.2, True, 0.0)
    assert GRPO.loss_normalization == "token"
    assert Algorithm(name=GRPO.name, source=GRPO.source) == GRPO


def test_a_configuration_goes_over_the_algorithms_own_settings_and_no_others() -> None:
    dapo = load_plugins().algorithm("dapo")
    assert configured_algorithm(dapo, load_config(None, [], {})) == dapo
    config = load_config(
        None, ["train.clip_high=0.3", "rollout.dynamic_sampling_rounds=0", "train.normalize_by_std=false"], {}
    )
    assert configured_algorithm(dapo, config) == replace(
        dapo, clip_high=0.3, dynamic_sampling_rounds=0, normalize_by_std=False
    )


def test_an_engine_that_samples_during_updates_cannot_sleep_through_them() -> None:
    cwm, settings = load_plugins().algorithm("cwm"), ["rollout.engine=vllm", "rollout.sleep_mode=true"]
    with pytest.raises(UsageError, match=r"^rollout.sleep_mode = true needs train.max_off_policy_steps = 0"):
        configured_algorithm(cwm, load_config(None, settings, {}))
    on_policy = load_config(None, [*settings, "train.max_off_policy_steps=0"], {})
    assert configured_algorithm(cwm, on_policy).max_off_policy_steps == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_written_configuration_holds_the_algorithms_settings(name: str) -> None:
    algorithm, config = load_plugins().algorithm(name), load_config(None, ["train.kl_coef=0.01"], {})
    written = with_algorithm_settings(config, configured_algorithm(algorithm, config))
    assert (
        configured_algorithm(algorithm, written)
        == configured_algorithm(algorithm, config)
        == replace(algorithm, kl_coef=0.01)
    )
    assert (written.train.clip_low, written.rollout.dynamic_sampling_rounds) == (
        algorithm.clip_low,
        algorithm.dynamic_sampling_rounds,
    )


def test_a_choice_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="algorithm 'x': loss_normalization is one of token, sequence, constant"):
        Algorithm(name="x", source="", loss_normalization="tokens")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["train.tis_cap=2", "train.mis_high=5"], "tis_cap truncates what mis_high masks; set one of them to 0"),
        (["train.mis_low=0.5"], "mis_low = 0.5 needs a higher mis_high"),
        (["train.mis_low=0.5", "train.mis_high=0.5"], "mis_low = 0.5 needs a higher mis_high"),
    ],
)
def test_settings_that_exclude_each_other_are_an_error_in_one_line(settings: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=f"algorithm 'grpo': {message}"):
        check_names(load_config(None, settings, {}), load_plugins())


def test_algorithms_are_found_without_torch() -> None:
    found = "from agnostics.plugins.manager import load_plugins; load_plugins().algorithms()"
    script = f"import sys; {found}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
