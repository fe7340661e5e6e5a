"""Replay: derives all data again from the log."""
