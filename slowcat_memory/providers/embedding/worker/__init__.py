"""The document embedder: sentence-transformers in a child process."""
