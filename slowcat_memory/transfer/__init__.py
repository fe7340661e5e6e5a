"""Transcripts and facts in and out as files."""
