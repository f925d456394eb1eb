"""What `agn doctor` finds on a machine without a container engine."""

from __future__ import annotations

import pytest
from agnostics.sandbox.backends.docker import DockerBackend
from agnostics.sandbox.doctor import isolation_findings, sandbox_findings


def test_without_an_engine_nothing_is_said_of_its_containers(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path_factory.mktemp('engine')}/absent")
    (engine,) = sandbox_findings([DockerBackend()])
    assert engine.found is None
    assert "no container engine answers" in engine.mend
    assert not [finding for finding in isolation_findings() if "docker" in finding.name]
