"""Container images: the base image, and one for each language on top of it."""
