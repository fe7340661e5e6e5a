"""Test doubles and contract checks; they need no model and no Pipecat.

``testing.server`` has a scripted LLM server; ``testing.headless`` plays a whole pipeline.

Example::

    clock = FixedClock()
    engine = MemoryEngine(memory_config(tmp_path), embedder=HashEmbedder(), clock=clock)
"""

from slowcat_memory.testing.contracts import check_embedder, check_job, think
from slowcat_memory.testing.doubles import FixedClock, HashEmbedder, ScriptedLLM, memory_config

__all__ = [
    "FixedClock",
    "HashEmbedder",
    "ScriptedLLM",
    "check_embedder",
    "check_job",
    "memory_config",
    "think",
]
