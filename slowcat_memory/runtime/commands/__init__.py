"""Carries out voice commands, and undoes them."""
