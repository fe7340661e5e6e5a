"""Limits of what an LLM writes about a chunk. Apart from its code, as in ``core.facts``."""

MAX_QUESTIONS = 3
MAX_NOTES = 3
