"""Which documents contain a query's words: BM25 over a sealed part and a mutable tail."""
