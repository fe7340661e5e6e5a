"""Jobs that learn from use: queries judged by an LLM, and users' reactions to replies."""
