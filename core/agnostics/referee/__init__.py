"""Agent sessions: the referee, which holds problems, hidden tests, budgets and submissions outside the player's box.

A player goes through the problems of a data set in one language under a protocol ("Coding agents on unfamiliar
languages", 2026, sections 2 and A.8 to A.12).
"""
