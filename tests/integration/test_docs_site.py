"""The documentation as a site, built as `make docs` does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import agnostics
import pytest
from distributions import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site. Strict: a link that leads nowhere fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    answer = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return folder


def test_every_page_of_the_documentation_is_a_page_of_the_site(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / ("" if page.stem == "index" else page.stem) / "index.html").exists()


def test_everything_that_agnostics_exports_is_in_the_reference(site: Path) -> None:
    described = re.findall(r'<h2 id="agnostics\.(\w+)"', (site / "api" / "index.html").read_text())
    assert sorted(described) == sorted(agnostics.__all__)


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.findall(r'<(?:script|img|link rel="stylesheet")[^>]* (?:src|href)="https?:', page.read_text())
