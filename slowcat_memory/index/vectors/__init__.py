"""Which documents are nearest to a query's vector, by their own vectors or by those of their keys."""
