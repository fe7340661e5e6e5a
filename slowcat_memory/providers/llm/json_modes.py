"""How a server is asked for JSON: the strictest mode it accepts, found by trying and remembered."""

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
    """One way to ask for JSON.

    Attributes:
        form: "json_schema": the server's grammar allows nothing else. "json_object": any JSON,
            with the schema in the prompt too. "prompt": the prompt alone.
        usage: Ask the server to count tokens.
    """

    form: Form = "json_schema"
    usage: bool = True

    def arguments(self, name: str, into: type[Struct]) -> dict[str, Any]:
        """Return the arguments of a request besides its messages."""
        more: dict[str, Any] = {"stream_options": {"include_usage": True}} if self.usage else {}
        schema = schema_of(into)
        if self.form == "json_schema":
            body = {"name": name, "schema": schema, "strict": True}
            more["response_format"] = {"type": "json_schema", "json_schema": body}
        elif self.form == "json_object":
            more["response_format"] = {"type": "json_object", "schema": schema}
        return more

    def system(self, instruction: str, into: type[Struct]) -> str:
        """Return the instruction, with the schema appended if no grammar enforces it."""
        if self.form == "json_schema":
            return instruction
        return f"{instruction}\n\nAnswer with one JSON object of this schema:\n{schema_text(into)}"

    def weaker(self, counting: bool = False) -> "JsonMode | None":
        """Return the next mode to try, None after the last.

        Args:
            counting: The server refuses to count tokens; then only that is left out.
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
        """Return the mode that a server accepted last; the strictest if none is known."""
        return self._modes.get(server, JsonMode())

    def remember(self, server: tuple[str, ...], mode: JsonMode) -> None:
        """Record that a server answered in a mode."""
        self._modes[server] = mode


@cache
def schema_of(into: type[Struct]) -> dict[str, Any]:
    """Return a type's JSON schema in the subset that the grammars of local servers understand.

    References are resolved; limits are kept where grammars can count so far.

    Args:
        into: A struct that does not contain itself.

    Returns:
        The schema; not to be changed.
    """
    (schema,), parts = msgspec.json.schema_components([into], ref_template="{name}")
    return _simplified(schema, parts)


@cache
def schema_text(into: type[Struct]) -> str:
    """Return a type's schema for a prompt, as JSON on one line."""
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
