"""BM25 over a sealed part and a mutable tail."""
