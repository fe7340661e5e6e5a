"""Reads statements out of a conversation, by rule or by an LLM, and checks what an LLM wrote."""
