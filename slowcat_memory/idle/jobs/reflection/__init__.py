"""Jobs that think about recent sessions: blocks, profile, episodes, open threads."""
