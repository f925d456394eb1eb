"""Inference: engines that sample completions here, and clients of those that do elsewhere."""
