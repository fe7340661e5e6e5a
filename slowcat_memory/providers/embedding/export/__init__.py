"""Exports a sentence-transformers model to int8 ONNX, in a child process."""
