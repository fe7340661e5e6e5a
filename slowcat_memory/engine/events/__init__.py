"""What happens to memories, for whoever listens."""
