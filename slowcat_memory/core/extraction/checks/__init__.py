"""Checks of what an LLM writes about people: who it is said of, and whether it is said at all."""
