"""The document embedder: an exported model in fp32, in a child process."""
