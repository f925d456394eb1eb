"""One file for each schema of the results database."""
