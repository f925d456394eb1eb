"""The export of an agent session, in the fields of the paper, from the database alone (appendix A.3)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection


def export_session(connection: Connection, name: str) -> dict[str, Any]:
    """The session called `name` as JSON values; the same for the same events. Raises UsageError for an unknown one.

    Keys: session, player, model, language, dataset, protocol (all fields), seed, agnostics_version, complete (every
    problem is final), totals (problems, solved, submissions, runs, tests_passed, tests), tiers (problems and solved of
    each), problems (id, tier, unsolvable, solved, skipped, final, runs, submissions with passed and total), and times
    (created_at, finished_at, seconds by problem): two sessions with the same operations differ in these alone.
    """
    raise NotImplementedError
