"""Jobs that look back over sessions: episodes, open threads, the profile, the blocks."""
