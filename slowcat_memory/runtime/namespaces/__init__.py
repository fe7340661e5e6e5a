"""How each namespace's index is loaded, kept equal to the log, embedded and sealed."""
