"""How a sealed index is built, and published as a whole by a child process."""
