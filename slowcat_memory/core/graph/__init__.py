"""People and things: who is mentioned, which names mean one, how they relate over time."""
