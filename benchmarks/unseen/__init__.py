"""Judges the lists of unseen inputs through the product's own functions; see ``__main__``."""
