"""People and things: who is mentioned, whether two names mean one, and how they relate over time."""
