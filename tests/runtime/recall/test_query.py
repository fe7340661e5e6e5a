"""Options of a recall have ranges, and a query takes what it does not say from them."""

from datetime import UTC, datetime

import msgspec

from slowcat_memory.core.render.memory_block import PackOptions
from slowcat_memory.runtime.recall.query import (
    Query,
    RetrievalOptions,
)


def test_query_limit_is_its_own_or_that_of_the_options() -> None:
    query = Query(text="dog", scope="anna", now=datetime(2026, 5, 12, tzinfo=UTC))
    options = RetrievalOptions(pack=PackOptions(memories=3))
    assert query.limit(options) == 3
    assert msgspec.structs.replace(query, k=0).limit(options) == 0
