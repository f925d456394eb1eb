"""The steps from each schema of the results database to the next."""
