"""The text that reaches the LLM: the memory block, the session preamble, spoken dates."""
