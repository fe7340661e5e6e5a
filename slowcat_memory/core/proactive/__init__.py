"""Icebreakers and open threads: what the agent may bring up by itself."""
