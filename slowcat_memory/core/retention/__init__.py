"""How long a memory stays, and in which tier."""
