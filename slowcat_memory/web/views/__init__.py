"""The views: one module a question, each a few functions that read what the page shows."""
