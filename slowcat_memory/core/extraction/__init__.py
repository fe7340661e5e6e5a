"""Extracts statements from a conversation, by rule or by an LLM, and checks LLM output."""
