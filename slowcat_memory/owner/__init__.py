"""The memory of a process that talks, opened in the background."""
