"""The German tables."""
