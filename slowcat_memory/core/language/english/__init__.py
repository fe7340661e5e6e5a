"""The English tables."""
