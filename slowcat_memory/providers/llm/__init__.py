"""LLMs: a prompt in, a checked answer out."""
