"""Functions offered to the conversation's LLM: what it may call, with which arguments, and the answers."""
