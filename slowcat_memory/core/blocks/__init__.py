"""Memory blocks: the short texts about the user and the agent that every session starts with."""
