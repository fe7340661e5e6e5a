"""Writes a recollection as the block for the LLM; needs neither a store nor an index."""

from datetime import datetime, tzinfo

from slowcat_memory.core.render.excerpt import relevant
from slowcat_memory.core.render.memory_block import Packed, pack
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.runtime.recall.query import Recollection, RetrievalOptions


class BlockWriter:
    """Writes blocks within their budget. Safe to use from any thread."""

    def __init__(self, zone: tzinfo, tokenizer: Tokenizer, options: RetrievalOptions) -> None:
        self._zone, self._tokenizer, self._options = zone, tokenizer, options

    def pack(self, found: Recollection, now: datetime) -> Packed:
        """Return the block for the LLM, in its budget; long memories are cut to the query."""
        return pack(
            found.hits,
            now,
            self._zone,
            self._options.pack,
            lambda text, tokens: relevant(
                text,
                found.words,
                self._tokenizer,
                tokens,
                self._options.extract,
                self._options.language,
            ),
            language=self._options.language,
            unknown=found.unknown,
            unchanged=found.unchanged,
            asks_time=found.asks_time,
        )
