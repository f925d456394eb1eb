"""Run callbacks: the interface, their dispatch, and the loggers that Agnostics brings along."""
