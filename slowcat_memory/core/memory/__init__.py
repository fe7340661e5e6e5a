"""What is a memory? Chunks, kinds, validity."""
