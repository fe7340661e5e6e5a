"""People and things: mentions, names of one entity, and relations over time."""
