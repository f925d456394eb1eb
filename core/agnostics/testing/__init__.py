"""The contract suite of language packs, and further checks for their authors."""
