"""The analysis of agent sessions: scores with intervals, comparisons, and what programs share with what was shown."""
