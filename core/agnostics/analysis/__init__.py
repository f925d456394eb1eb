"""Analysis of what is in the results database: learning curves, failures, themes, plots."""
