"""Agnostics inside other frameworks: our sessions as their sandboxes, our tasks and verdicts as their environments.

Each module imports its framework, which an extra installs; nothing else imports these modules.
"""
