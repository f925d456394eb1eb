"""`agn verify --serve`: the verifier over HTTP, for trainers on this machine and others."""
