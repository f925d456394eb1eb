"""Detection of reward hacking: accepted programs that may not do what their task asks."""
