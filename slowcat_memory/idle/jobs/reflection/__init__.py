"""Jobs that review past sessions: episodes, open threads, the profile, the blocks."""
