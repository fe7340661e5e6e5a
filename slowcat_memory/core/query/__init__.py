"""What a query asks for: speakers, follow-ups, overviews, and whether it needs a recall."""
