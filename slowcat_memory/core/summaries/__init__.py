"""Summaries and topics: prompts, extractive fallback, records."""
