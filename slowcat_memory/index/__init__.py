"""Which memory ids answer a query: derived, rebuildable, one index per namespace."""

from slowcat_memory.index.builder import Builder
from slowcat_memory.index.format import Document, IndexOptions
from slowcat_memory.index.searcher import Lexical, Searcher

__all__ = ["Builder", "Document", "IndexOptions", "Lexical", "Searcher"]
