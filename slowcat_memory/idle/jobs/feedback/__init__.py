"""Jobs that learn from use: queries judged by an LLM, and what the user says of a reply."""
