"""Task preparation: reformulation of function problems as tasks, its checks, and decontamination."""
