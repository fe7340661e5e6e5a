"""What is read out of a conversation, by rule or by an LLM, and the checks it must pass."""
