"""The pictures of docs/results-pages.md: `python scripts/screenshots.py DATABASE RUN [PAGE…]`.

With Chromium and playwright. Without pages, all but those of an episode, which need a run with episodes of several
turns: `python scripts/screenshots.py DATABASE RUN episode`.
"""

from __future__ import annotations

import shutil
import sys
import threading
from io import BytesIO
from pathlib import Path

from agnostics.store.episodes import episode_rows
from agnostics.store.filters import VerificationFilter
from agnostics.store.read_only import ReadOnlyStore
from agnostics.web.queries.tasks import completions_page, tasks_page
from agnostics.web.server import ResultsServer
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZES = {"desktop": (1200, 1000), "phone": (360, 760)}
COLOURS = 160
PICTURES = ("run desktop light", "run phone dark", "task desktop dark", "program desktop light", "program phone light")
PICTURES += ("step desktop light", "step phone light")
EPISODE = ("episode desktop light", "episode phone dark")


def main(database: str, run: str, *pages: str) -> None:
    """Take the pictures of these pages, of all but an episode's by default."""
    pictures = [one for one in PICTURES + EPISODE if one.split()[0] in pages] if pages else PICTURES
    with ReadOnlyStore.open(database) as reader:
        site = ResultsServer(reader, "127.0.0.1", 0)
        thread = threading.Thread(target=site.serve, daemon=True)
        thread.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for picture in pictures:
                name, size, scheme = picture.split()
                path = episode_address(reader, run) if name == "episode" else addresses(reader, run)[name]
                take(browser, site.url + path, name, size, scheme)
            browser.close()
        site.server.should_exit = True
        thread.join()


def addresses(reader: ReadOnlyStore, run: str) -> dict[str, str]:
    """A page of each kind: a task that some programs solved, and one program that failed after some of its tests."""
    with reader.reading() as connection:
        wrong = {"run": run, "phase": "train", "verdict": "wrong_answer"}
        tasks = [task.task_id for task in tasks_page(connection, run, "train", "hardest", 50, (0.3, 0))]
        answers = [(answer, task) for task in tasks for answer in completions_page(connection, task, 50, **wrong)]
    program, task_id = max(answers, key=lambda found: (found[0].tests_passed, len(found[0].program or "")))
    task = f"tasks/{task_id}?run={run}&phase=train"
    return {
        "run": f"runs/{run}",
        "step": f"runs/{run}/steps/3",
        "task": task,
        "program": f"programs/{program.completion_id}",
    }


def episode_address(reader: ReadOnlyStore, run: str) -> str:
    """The page of an episode of several turns with short observations, whose last program is accepted or wrong."""
    with reader.reading() as connection:
        several = [row for row in episode_rows(connection, VerificationFilter(run)) if row.turns > 1]
    best = min(several, key=lambda row: (row.verdict not in ("accepted", "wrong_answer"), row.observation_tokens))
    return f"programs/{best.completion_id}"


def take(browser: Browser, url: str, name: str, size: str, scheme: str) -> None:
    """One picture, in few colours."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    if name == "run":
        page.wait_for_selector(".u-legend")
    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(IMAGES / f"pages-{name}-{size}.png", optimize=True)
    page.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
