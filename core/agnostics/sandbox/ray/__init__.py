"""The sandbox across the nodes of a Ray cluster."""
