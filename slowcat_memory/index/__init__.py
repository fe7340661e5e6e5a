"""Here is a query, give me ids: derived, rebuildable, one index per namespace."""

from slowcat_memory.index.options import IndexOptions
from slowcat_memory.index.searcher import Candidates, Document, Searcher

__all__ = ["Candidates", "Document", "IndexOptions", "Searcher"]
