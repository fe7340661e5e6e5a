"""Analysis of a query: gate, parsing, speakers, follow-ups, overviews."""
