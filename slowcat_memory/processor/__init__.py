"""The Pipecat door: one processor between the user aggregator and the LLM."""

from slowcat_memory.processor.processor import HybridContextualMemoryProcessor

__all__ = ["HybridContextualMemoryProcessor"]
