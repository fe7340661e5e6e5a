"""Nearest documents to a query's vector, by their own vectors or by their keys'."""
