"""Executes and undoes voice commands."""
