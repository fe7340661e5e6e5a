"""Options of a recall have ranges, and a query takes what it does not say from them."""

from datetime import UTC, datetime

import msgspec
import pytest

from slowcat_memory.core.query.understand import AskOptions
from slowcat_memory.core.ranking.score import FuseOptions, RankOptions
from slowcat_memory.core.render.memory_block import PackOptions
from slowcat_memory.runtime.recall.query import (
    PrefetchOptions,
    Query,
    RecallOptions,
    RetrievalOptions,
)
from tests.support.rows import each_row


@each_row(
    ("options", "field", "value"),
    [
        (RecallOptions, "floor", 7.0),
        (RecallOptions, "deadline_ms", -1.0),
        (RecallOptions, "keep_share", 1.1),
        (PrefetchOptions, "min_words", -1),
        (PrefetchOptions, "overlap", 2.0),
        (AskOptions, "sounds_weight", -0.1),
        (FuseOptions, "dense", -0.1),
        (FuseOptions, "rerank", -1),
        (RankOptions, "half_life_days", -1.0),
        (RankOptions, "with_keys", 1.5),
    ],
)
def test_query_options_refuse_what_is_out_of_range(options: type, field: str, value: float) -> None:
    assert msgspec.convert({}, options) == options()
    with pytest.raises(msgspec.ValidationError, match=f"(>=|<=).*{field}"):
        msgspec.convert({field: value}, options)


def test_query_limit_is_its_own_or_that_of_the_options() -> None:
    query = Query(text="dog", scope="anna", now=datetime(2026, 5, 12, tzinfo=UTC))
    options = RetrievalOptions(pack=PackOptions(memories=3))
    assert query.limit(options) == 3
    assert msgspec.structs.replace(query, k=0).limit(options) == 0
