"""Simulated lives with a known truth: who said what on which day, what was true, and what the memory makes of it."""
