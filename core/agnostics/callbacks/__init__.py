"""The watchers that Agnostics brings along, a file each."""
