"""The JSON schema of an answer, in the words that the grammars of local servers understand."""

import json
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

MAX_LENGTH = 1000  # a grammar repeats a rule that often; llama.cpp refuses more than 2,000
_DROPPED = {"title", "description", "default", "$defs", "discriminator"}
_LIMITS = {"maxLength", "minLength", "maxItems", "minItems"}


@cache
def schema_of(into: type[Struct]) -> dict[str, Any]:
    """Describe a type: references resolved, limits kept where grammars can count so far.

    Args:
        into: A struct that does not contain itself.

    Returns:
        Its schema; not to be changed.
    """
    (schema,), parts = msgspec.json.schema_components([into], ref_template="{name}")
    return _plain(schema, parts)


@cache
def schema_text(into: type[Struct]) -> str:
    """Write a type's schema for a prompt.

    Args:
        into: As in ``schema_of``.

    Returns:
        JSON on one line.
    """
    return json.dumps(schema_of(into), ensure_ascii=False)


def _plain(part: Any, parts: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_plain(item, parts) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _plain(parts[part["$ref"]], parts)
    kept = {}
    for name, value in part.items():
        if name == "properties":
            kept[name] = {field: _plain(rule, parts) for field, rule in value.items()}
        elif name not in _DROPPED and not (name in _LIMITS and value > MAX_LENGTH):
            kept[name] = _plain(value, parts)
    return kept
