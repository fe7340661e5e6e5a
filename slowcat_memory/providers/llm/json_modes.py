"""Requests JSON in the strictest mode that a server accepts."""

import json
from functools import cache
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

Form = Literal["json_schema", "json_object", "prompt"]
FORMS: tuple[Form, ...] = ("json_schema", "json_object", "prompt")
MAX_LENGTH = 1000  # a grammar repeats a rule that often; llama.cpp refuses more than 2,000
_DROPPED = {"title", "description", "default", "$defs", "discriminator"}
_LIMITS = {"maxLength", "minLength", "maxItems", "minItems"}


class JsonMode(Struct, frozen=True):
    """One way to request JSON."""

    # "json_schema": the server's grammar allows nothing else. "json_object": any JSON, with the
    # schema in the prompt too. "prompt": the prompt alone
    form: Form = "json_schema"
    usage: bool = True  # ask the server to count tokens

    def arguments(self, name: str, into: type[Struct]) -> dict[str, Any]:
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.usage else {}
        schema = schema_of(into)
        if self.form == "json_schema":
            body = {"name": name, "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": body}
        elif self.form == "json_object":
            more["response_format"] = {"type": "json_object", "schema": schema}
        return more

    def system(self, instruction: str, into: type[Struct]) -> str:
        if self.form == "json_schema":
            return instruction
        return f"{instruction}\n\nAnswer with one JSON object of this schema:\n{schema_text(into)}"

    def weaker(self, counting: bool = False) -> "JsonMode | None":
        """Return the next mode to try, None after the last.

        Args:
            counting: The server refuses to count tokens; then only that is dropped.
        """
        lower = FORMS[FORMS.index(self.form) + 1 :]
        if self.usage and (counting or not lower):
            return replace(self, usage=False)
        return replace(self, form=lower[0]) if lower else None


class JsonModes:
    """Remembers for each server (base URL, model, kind) the mode it accepted last."""

    def __init__(self) -> None:
        self._modes: dict[tuple[str, ...], JsonMode] = {}

    def mode_of(self, server: tuple[str, ...]) -> JsonMode:
        return self._modes.get(server, JsonMode())

    def remember(self, server: tuple[str, ...], mode: JsonMode) -> None:
        self._modes[server] = mode


@cache
def schema_of(into: type[Struct]) -> dict[str, Any]:
    """Return a type's JSON schema in the subset that the grammars of local servers understand.

    References are resolved; limits are kept if grammars can count that far. Do not change the
    result.

    Args:
        into: A struct that does not contain itself.
    """
    (schema,), parts = msgspec.json.schema_components([into], ref_template="{name}")
    return _simplified(schema, parts)


@cache
def schema_text(into: type[Struct]) -> str:
    return json.dumps(schema_of(into), ensure_ascii=False)


def _simplified(part: Any, parts: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_simplified(item, parts) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _simplified(parts[part["$ref"]], parts)
    kept = {}
    for name, value in part.items():
        if name == "properties":
            kept[name] = {field: _simplified(rule, parts) for field, rule in value.items()}
        elif name not in _DROPPED and not (name in _LIMITS and value > MAX_LENGTH):
            kept[name] = _simplified(value, parts)
    return kept
