"""Embedders: texts to vectors, from a local model or an endpoint."""
