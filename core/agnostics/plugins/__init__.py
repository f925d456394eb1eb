"""The plugin platform: hook specifications, the loader and the manager."""
