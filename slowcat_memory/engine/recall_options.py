"""The part of a configuration that recall reads."""

from slowcat_memory.config import Config
from slowcat_memory.runtime.recall.query import RetrievalOptions


def retrieval_options(config: Config) -> RetrievalOptions:
    return RetrievalOptions(
        recall=config.recall,
        prefetch=config.prefetch,
        ask=config.ask,
        fuse=config.fuse,
        rank=config.rank,
        gate=config.gate,
        pack=config.pack,
        extract=config.extract,
        language=config.memory.language,
    )
