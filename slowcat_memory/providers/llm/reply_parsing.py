"""Reads an LLM's reply into a checked value, item by item.

Tolerant of the wrapping (``reply_json``) and of what has only one meaning (``reply_fields``); nothing
is completed, corrected or invented. A bad item of a list costs itself; a reply that was cut off
gives its whole items. Of several values the first with content counts. No message quotes the reply.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.inspect import ListType, StructType, VarTupleType

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers.llm.reply_fields import (
    Coercion,
    FieldShape,
    folded,
    shape_of,
    without_quotes,
)
from slowcat_memory.providers.llm.reply_json import (
    Found,
    has_json,
    json_values,
    without_reasoning,
)

T = TypeVar("T", bound=Struct)

MAX_CHARS = 64 << 10
MAX_WRAPPERS = 2
BROKEN = "its JSON is broken"


class Parsed(Struct, Generic[T], frozen=True):
    """A value, and what its text had besides.

    Attributes:
        lost: Number of items left out, by reason; the reasons quote nothing.
        whole: Whether the text was not cut off within the value.
    """

    value: T
    lost: Mapping[str, int] = {}
    whole: bool = True


def parse(text: str, into: type[T], *, prose: bool = False) -> T:
    """Return the value in an LLM's text; see ``parse_reply``."""
    return parse_reply(text, into, prose=prose).value


def parse_reply(text: str, into: type[T], *, prose: bool = False) -> Parsed[T]:
    """Return the value in an LLM's text; lone surrogates are removed from its strings.

    Args:
        into: The exact type; see ``reply_fields`` for what it may declare.
        prose: Take a text without JSON for the field that ``into.PROSE`` names, if it names one.

    Raises:
        BadAnswerError: The text has no such value; the message gives the reason without quotes.
    """
    if len(text) > MAX_CHARS:
        raise BadAnswerError(f"it is longer than {MAX_CHARS} characters")
    answer = without_reasoning(text)
    if not answer:
        raise BadAnswerError("it is empty")
    if has_json(answer):
        values, otherwise = json_values(answer), "its JSON is broken or not complete"
    else:
        field = getattr(into, "PROSE", "") if prose else ""
        values = iter([Found({field: answer})] if field else [])
        otherwise = "there is no JSON object in it"
    try:
        return _first_with_content(_readings(values, into), otherwise)
    except RecursionError:
        raise BadAnswerError("it is nested too deeply") from None


def _readings(values: Iterator[Found], into: type[T]) -> Iterator[Parsed[T] | BadAnswerError]:
    """Yield what each value is as a reply, or why it is none."""
    single = list[Found]()
    for found in values:
        cleaned = Found(_clean(found.value), found.whole, found.lost)
        for one in _candidates(cleaned, into):
            if isinstance(one.value, dict) and _is_item(one.value, into):
                single.append(one)
            else:
                yield _reading(one, into)
    if single:  # items one after the other, without the list
        whole, lost = all(one.whole for one in single), sum(one.lost for one in single)
        yield _reading(Found([one.value for one in single], whole, lost), into)


def _first_with_content(
    readings: Iterator[Parsed[T] | BadAnswerError], otherwise: str
) -> Parsed[T]:
    first: Parsed[T] | None = None
    refused: BadAnswerError | None = None
    for one in readings:
        if isinstance(one, BadAnswerError):
            refused = refused or one
        elif _has_content(one.value):
            return one
        else:
            first = first or one
    if first is not None:
        return first
    raise refused or BadAnswerError(otherwise)


def _candidates(found: Found, into: type[Struct]) -> Iterator[Found]:
    """Yield a list's own replies, if it is a list of such; else the value."""
    items = found.value if isinstance(found.value, list) else []
    if items and all(isinstance(one, dict) and _known(one, into) for one in items):
        for one in items:
            yield Found(one, found.whole, found.lost)
    else:
        yield found


def _reading(found: Found, into: type[T]) -> Parsed[T] | BadAnswerError:
    coercion = Coercion()
    if found.lost:
        coercion.lost[BROKEN] += found.lost
    try:
        fields = coercion.fields(_unwrapped(found.value, into), into)
        value = msgspec.convert(fields, into, strict=True)
    except msgspec.ValidationError as error:
        reason = without_quotes(str(error))
        return BadAnswerError(reason if found.whole else f"it was cut off: be shorter ({reason})")
    except BadAnswerError as error:
        return error
    if not _has_content(value) and (coercion.lost or not found.whole):
        reason = next(iter(coercion.lost), "its JSON is broken or not complete")
        return BadAnswerError(reason)
    return Parsed(value, dict(coercion.lost), found.whole)


def _unwrapped(value: Any, into: type[Struct]) -> dict[str, Any]:
    """Return the object with the reply's fields: of a bare list, or within one wrong wrapper.

    Raises:
        BadAnswerError: There is none.
    """
    for _ in range(MAX_WRAPPERS + 1):
        if isinstance(value, list):
            only = _only_list(into)
            if only is None:
                raise BadAnswerError("it is a list, where an object was asked for")
            return {only.name: value}
        if _known(value, into) or not shape_of(into):
            return dict(value)
        within = [one for one in value.values() if isinstance(one, dict | list)]
        if len(within) != 1:
            break
        value = within[0]
    required = next((one.name for one in shape_of(into) if not one.optional), "")
    why = f"Object missing required field `{required}`" if required else "it has no field"
    raise BadAnswerError(why)


def _known(value: Mapping[str, Any], into: type[Struct]) -> bool:
    """Return whether an object has one of a struct's fields."""
    sent = {folded(name) for name in value}
    return any(not sent.isdisjoint(field.names) for field in shape_of(into))


def _only_list(into: type[Struct]) -> FieldShape | None:
    """Return the reply's list field, if it has no other field."""
    fields = shape_of(into)
    is_list = len(fields) == 1 and isinstance(fields[0].type, ListType | VarTupleType)
    return fields[0] if is_list else None


def _is_item(value: Mapping[str, Any], into: type[Struct]) -> bool:
    """Return whether an object is an item of the reply's only list, and not the reply itself."""
    only = _only_list(into)
    item = only.type.item_type if only else None
    if only is None or not isinstance(item, StructType):
        return False
    sent = {folded(name): one for name, one in value.items()}
    if any(isinstance(sent.get(name), list | dict) for name in only.names):
        return False
    needed = [field for field in shape_of(item.cls) if not field.optional]
    return bool(needed) and all(not sent.keys().isdisjoint(field.names) for field in needed)


def _has_content(value: Struct) -> bool:
    return any(getattr(value, name) for name in value.__struct_fields__)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "ignore").decode("utf-8")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value
