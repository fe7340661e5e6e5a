"""Where a memory is in its pipeline."""
