"""The results pages: a read-only web view of a results database."""
