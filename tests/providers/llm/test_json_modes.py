import json
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.providers.llm.server import schema_of


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(max_length=20)]
    weight: float
    count: int = 0


def test_json_modes_a_schema_has_neither_references_nor_limits_that_no_grammar_counts() -> None:
    class Long(Struct, forbid_unknown_fields=True):
        text: Annotated[str, Meta(max_length=50_000, description="a text")]
        facts: list[Fact]
        maxLength: str = "a field of that name"

    schema = schema_of(Long)
    assert schema["properties"]["text"] == {"type": "string"}
    assert schema["properties"]["maxLength"] == {"type": "string"}
    item = schema["properties"]["facts"]["items"]
    assert item["properties"]["subject"] == {"type": "string", "maxLength": 20}
    assert item["additionalProperties"] is False and item["required"] == ["subject", "weight"]
    assert "$" not in json.dumps(schema)
