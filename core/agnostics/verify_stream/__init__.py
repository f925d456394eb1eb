"""The JSON lines of `agn verify`, whether they come from a file or over HTTP: requests, and the replies to them."""
