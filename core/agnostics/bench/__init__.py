"""Measurements of the parts, as ratios within one run: what a machine does changes, what a part costs does not."""
