"""The largest numbers that columns of the results database hold, in both databases."""

from __future__ import annotations

LARGEST_ID = 2**63 - 1
LARGEST_INTEGER = 2**31 - 1
"""The largest number in a column that holds no ids: a step, a turn."""
