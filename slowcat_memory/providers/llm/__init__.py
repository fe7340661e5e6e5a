"""Here is a prompt, give me a checked answer."""
