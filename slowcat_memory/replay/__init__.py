"""Replay: repeats an old recall, or derives all data again from the log."""
