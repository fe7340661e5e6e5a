"""One index per namespace, kept equal to the log."""
