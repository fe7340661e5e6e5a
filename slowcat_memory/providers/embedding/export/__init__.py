"""Exports a model to ONNX, in fp32 and in int8, in a child process."""
