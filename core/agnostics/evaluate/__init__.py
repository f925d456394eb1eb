"""What runs came to, read from the store."""
