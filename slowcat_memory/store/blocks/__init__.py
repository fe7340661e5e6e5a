"""Compressed blocks of old turns: the warm and cold tiers."""
