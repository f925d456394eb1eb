"""Detection of accepted programs that exploit the tests instead of solving the task."""
