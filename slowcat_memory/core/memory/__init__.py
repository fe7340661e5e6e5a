"""The memory record: chunks, kinds, and when one is valid."""
