"""The results pages: what is in a results database, for a browser on this machine; nothing can be changed there."""
