"""Here is a text, give me a vector."""
