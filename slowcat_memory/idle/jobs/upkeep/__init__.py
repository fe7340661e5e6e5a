"""Jobs that keep the store and indexes in order, without an LLM."""
