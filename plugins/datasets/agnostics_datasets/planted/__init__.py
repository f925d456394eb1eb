"""Planted programs: their complexity, or whether they end, is known by construction."""
