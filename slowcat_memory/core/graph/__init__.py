"""Entities and bi-temporal relations, derived from the readings of turns."""
