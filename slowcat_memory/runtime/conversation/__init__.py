"""From transcripts to logged turns: sessions, speakers, off the record."""
