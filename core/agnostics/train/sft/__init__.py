"""`agn sft`: supervised fine-tuning on prompts and completions, conversations and plain text."""
