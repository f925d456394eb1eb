"""What the results pages show, a page of rows at a time, found by their keys."""
