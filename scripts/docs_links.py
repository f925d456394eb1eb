"""A hook of MkDocs: links that lead from a page to a file beside `docs/` lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"(?<=\]\()\.\./([^)#\s]+)")


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """The page with these links replaced. A link to a file that does not exist is left for MkDocs to complain about."""

    def absolute(link: re.Match[str]) -> str:
        path = ROOT / link[1]
        kind = "tree" if path.is_dir() else "blob"
        return f"{config.repo_url}/{kind}/main/{link[1]}" if path.exists() else link[0]

    return OUTSIDE.sub(absolute, markdown)
