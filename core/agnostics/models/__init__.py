"""Models: how a name becomes a folder, its tokenizer, its stop tokens and the memory it takes."""
