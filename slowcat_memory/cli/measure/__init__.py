"""Measures a language model on the jobs of idle work."""
