"""What one write does to the rows of each table."""
