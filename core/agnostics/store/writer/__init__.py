"""The writer of the results database: a queue, a process that commits, and the wire between them."""
