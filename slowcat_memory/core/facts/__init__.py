"""Facts: their shape, prompt, durability, and which two say the same."""
