"""Normalising, tokenising and comparing text."""
