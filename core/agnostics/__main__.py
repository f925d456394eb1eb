"""`python -m agnostics` is `agn`."""

from agnostics.cli import main

main()
