"""Changes of one write to the rows of each table."""
