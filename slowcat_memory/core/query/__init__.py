"""What does a query ask for? Gate, parsing, speakers, follow-ups, overviews."""
