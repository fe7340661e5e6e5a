"""Retention period, importance and tier of a memory."""
