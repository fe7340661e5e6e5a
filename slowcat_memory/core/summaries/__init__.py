"""Summaries and topics: the prompts, the rules without an LLM, the stored form."""
