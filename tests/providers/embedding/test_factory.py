import msgspec
import pytest

from slowcat_memory.providers import EmbedderOptions, open_query_embedder


def test_factory_none_is_none() -> None:
    embedder, report = open_query_embedder(EmbedderOptions(kind="none"))
    assert embedder is None and report.state == "none"


def test_factory_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(msgspec.ValidationError, match="querymax"):
        msgspec.convert({"querymax": 3}, EmbedderOptions)
