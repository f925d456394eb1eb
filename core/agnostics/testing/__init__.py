"""The contracts that packs keep, as suites that their authors can run."""
