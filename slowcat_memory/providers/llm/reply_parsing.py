"""Reads an LLM's reply into a checked value, item by item.

The JSON may be fenced, amid prose, after reasoning, cut off, or broken. Correct JSON is read by the
standard library, broken JSON by json-repair; of a reply that was cut off the whole items remain, and
the item in which it ends is left out, never completed. A bad item of a list costs itself; of several
values the first with content counts. No message quotes the reply.

A struct may declare, beside its fields:

``ALIASES``: by field, other names under which models send it, the likeliest first. Case, spaces and
underscores do not count. No value is put into a field because of its type alone.
``WHEN_MISSING``: by required field, the value of an item that lacks it.
``PROSE``: the field that a reply without any JSON is.

Unknown fields are ignored. A field with a default, or a ``WHEN_MISSING``, whose value cannot be read
counts as missing. An item of a list that does not fit costs itself, and is counted by the reason.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, cast, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, inspect
from msgspec.structs import astuple

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers.llm.base import Answer

T = TypeVar("T", bound=Struct)

MAX_CHARS = 64 << 10
MAX_REPAIRED = 10_000  # characters: a repair's time can grow with their square, to 2 s for these
MAX_WRAPPERS = 2
MAX_VALUES = 500  # of one text
MAX_DIGITS = 20
MAX_DEPTH = 60
_TAGS = "think|thinking|thought|reasoning|seed:think"
_REASONING = re.compile(rf"<({_TAGS})\b[^<>]{{0,40}}>.*?(?:</\1>|\Z)", re.S | re.I)
# Ends reasoning whose beginning the server removed. No pattern here may begin with "any text": it
# would be tried from every character on, and take minutes for an answer of 64 kB.
_REASONED = re.compile(rf"</(?:{_TAGS})>|<\|channel\|>final[^<>]{{0,40}}<\|message\|>", re.I)
_FENCE = re.compile(r"```[a-zA-Z]{0,10}\s{0,9}(?=[{\[])")
# The beginning of JSON; other braces and brackets are prose.
_BEGINNING = re.compile(r"\{\s*+(?:[\"'}]|[A-Za-z_]\w*+\s*+:|/[/*])|\[\s*+[{\"'\]]")
# A string, which without an end goes on to the end of the text, or a bracket or comma outside one.
_SIGN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?P<end>"|\Z|\\\Z)|[\[\]{},]', re.S)
_CLOSING = {"{": "}", "[": "]"}
_STRAY_COMMA = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|,(?=\s*+[\]}])', re.S)
_BROKEN = "its JSON is broken or not complete"
_STRAY_BACKSLASH = re.compile(r'(\\["\\/bfnrtu])|\\')


class Misfit:
    """In place of a number without end, and of two different values of a field: it fits no field."""


class ParsedPart(Struct, frozen=True):
    """A list or object of a text; not ``whole`` if items are missing where it was cut off."""

    value: Any
    whole: bool = True


def parse_reply(text: str, into: type[T], *, prose: bool = False) -> Answer[T]:
    """Return the value in an LLM's text; lone surrogates are removed from its strings.

    Args:
        into: The exact type; see above for what it may declare.
        prose: Take a text without JSON for the field that ``into.PROSE`` names, if it names one.

    Raises:
        BadAnswerError: The text has no such value; the message gives the reason without quotes.
    """
    if len(text) > MAX_CHARS:
        raise BadAnswerError(f"it is longer than {MAX_CHARS} characters")
    answer = _without_reasoning(text)
    if not answer:
        raise BadAnswerError("it is empty")
    try:
        if _BEGINNING.search(answer):
            return _first_with_content(_replies(_json_values(answer), into), into)
        if prose and (field := getattr(into, "PROSE", "")):
            return _reading(ParsedPart({field: answer}), into)
    except RecursionError:
        raise BadAnswerError("it is nested too deeply") from None
    raise BadAnswerError("there is no JSON object in it")


# ------------------------------------------------------------------- from text to JSON


def _without_reasoning(text: str) -> str:
    """Remove reasoning before the answer; an answer at the very start may contain tags as text."""
    text = text.strip()
    if text.startswith(("{", "[", "```")):
        return text
    text = _REASONING.sub("", text)
    ends = [match.end() for match in _REASONED.finditer(text)]
    return text[ends[-1] if ends else 0 :].strip()


def _json_values(text: str) -> Iterator[ParsedPart]:
    """Yield the outermost lists and objects of a text, those of the first fence on if it has one."""
    fence = None if text.startswith(("{", "[")) else _FENCE.search(text)
    at = fence.end() if fence else 0
    for _ in range(MAX_VALUES):
        start = _BEGINNING.search(text, at)
        if start is None:
            return
        try:
            value, at = _DECODER.raw_decode(text, start.start())
            parsed = ParsedPart(value)
        except ValueError:
            whole, part, at = _whole_items(text, start.start())
            parsed = ParsedPart(_repaired(part), whole)
        if isinstance(parsed.value, dict | list) and (parsed.whole or parsed.value):
            yield parsed


def _whole_items(text: str, start: int) -> tuple[bool, str, int]:
    """Return whether a list or object has an end, its text without the item cut off, and its end."""
    opened = list[tuple[str, int]]()  # by what each ends, and where its last whole item does
    sign = None
    for sign in _SIGN.finditer(text, start):
        if closing := _CLOSING.get(sign[0]):
            opened.append((closing, sign.end()))
            if len(opened) > MAX_DEPTH:
                raise BadAnswerError("it is nested too deeply")
        elif sign[0] == ",":
            opened[-1] = (opened[-1][0], sign.start())
        elif any(sign[0] == closing for closing, _ in opened):
            while opened.pop()[0] != sign[0]:
                pass
            if not opened:
                return True, text[start : sign.end()], sign.end()
            opened[-1] = (opened[-1][0], sign.end())
        elif sign["end"] and ":" in text[sign.start() - 2 : sign.start()]:  # a field's value
            opened[-1] = (opened[-1][0], sign.end())
    last = max(text.rfind("}"), text.rfind("]"))
    if sign and sign["end"] == "" and last > sign.start():  # a quotation mark too many
        return True, text[start : last + 1], len(text)
    outer = next((n for n, (closing, _) in enumerate(opened) if closing == "]"), 0)
    closings = "".join(closing for closing, _ in reversed(opened[: outer + 1]))
    return False, text[start : opened[outer][1]] + closings, len(text)


def _repaired(part: str) -> Any:
    """Return the value of JSON that may be broken, None if it is beyond repair."""
    part = _STRAY_BACKSLASH.sub(r"\1", _STRAY_COMMA.sub(r"\1", part))
    try:
        return _DECODER.decode(part)
    except ValueError:
        if len(part) > MAX_REPAIRED:
            return None
    from json_repair import repair_json  # takes 50 ms, and correct answers do without

    try:
        return _DECODER.decode(repair_json(part, skip_json_loads=True))
    except (ValueError, LookupError, TypeError):  # of the library, for odd texts
        return None


def _joined(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of some pairs; lists of one name become one."""
    value = dict[str, Any]()
    for name, new in pairs:
        if name not in value or value[name] == new:
            value[name] = new
        elif isinstance(value[name], list) and isinstance(new, list):
            value[name].extend(new)
        else:
            value[name] = Misfit()
    return value


def _bounded(digits: str) -> Any:
    return int(digits) if len(digits) <= MAX_DIGITS else Misfit()


def _number(digits: str) -> Any:
    value = float(digits)
    return value if math.isfinite(value) else Misfit()


_DECODER = json.JSONDecoder(
    strict=False,  # line breaks within strings
    parse_constant=lambda name: Misfit(),
    parse_int=_bounded,
    parse_float=_number,
    object_pairs_hook=_joined,
)


# ------------------------------------------------------------------- from JSON to values


def _first_with_content(replies: Iterator[ParsedPart], into: type[T]) -> Answer[T]:
    first: Answer[T] | None = None
    refused: BadAnswerError | None = None
    for reply in replies:
        try:
            answer = _reading(reply, into)
        except BadAnswerError as error:
            refused = refused or error
        else:
            if any(astuple(answer.value)):
                return answer
            first = first or answer
    if first is None:
        raise refused or BadAnswerError(_BROKEN)
    return first


def _replies(values: Iterator[ParsedPart], into: type[Struct]) -> Iterator[ParsedPart]:
    """Yield the values that may be a reply, alone or in a list."""
    for reply in values:
        inner = reply.value if isinstance(reply.value, list) else []
        several = inner and all(isinstance(item, dict) and _known(item, into) for item in inner)
        for value in inner if several else [reply.value]:
            yield ParsedPart(value, reply.whole)


def _reading(part: ParsedPart, into: type[T]) -> Answer[T]:
    coercion = Coercion()
    fields = coercion.fields(_unwrapped(part.value, into), into)
    if reason := why_unfit(fields, into):
        raise BadAnswerError(reason if part.whole else f"it was cut off: be shorter ({reason})")
    value = msgspec.convert(fields, into, strict=True)
    if not any(astuple(value)) and (coercion.lost or not part.whole):
        raise BadAnswerError(next(iter(coercion.lost), _BROKEN))
    return Answer(value=value, lost=dict(coercion.lost), whole=part.whole)


def _unwrapped(value: Any, into: type[Struct]) -> dict[str, Any]:
    """Return the object with the reply's fields: of a bare list, or within one wrong wrapper.

    An object without any if there is none: then a needed one is missing.

    Raises:
        BadAnswerError: It is a list that is no field's.
    """
    for _ in range(MAX_WRAPPERS + 1):
        if isinstance(value, list):
            only = _only_list(into)
            if only is None:
                raise BadAnswerError("it is a list, where an object was asked for")
            return {only.name: value}
        if _known(value, into):
            return value
        within = [inner for inner in value.values() if isinstance(inner, dict | list)]
        if len(within) != 1:
            break
        value = within[0]
    return {}


def _known(value: dict[str, Any], into: type[Struct]) -> bool:
    """Return whether an object has one of a struct's fields."""
    sent = by_name(value)
    return any(not sent.keys().isdisjoint(field.names) for field in shape_of(into))


def _only_list(into: type[Struct]) -> "FieldShape | None":
    """Return the reply's list field, if it has no other field."""
    fields = shape_of(into)
    is_list = len(fields) == 1 and isinstance(
        fields[0].type, inspect.ListType | inspect.VarTupleType
    )
    return fields[0] if is_list else None


# ------------------------------------------------------------------- the fields of a struct

_SIGNS = re.compile(r"[\W_]+")
_INTEGER = re.compile(
    r"[\[(#]?(?:[^\W\d_]{1,20}[.:]?)?\s{0,3}[\[(#]?(-?\d{1,18})(?:\.0{1,9})?[\])]?[.:]?"
)
_YES_NO = {
    **dict.fromkeys(("true", "yes", "y", "1", "ja", "wahr"), True),
    **dict.fromkeys(("false", "no", "n", "0", "nein", "falsch"), False),
}


class FieldShape(Struct, frozen=True):
    """A field of a reply's struct: its type, and the names it is sent under, folded."""

    name: str
    type: Any  # of ``msgspec.inspect``
    hint: Any  # as it is written
    names: tuple[str, ...]
    optional: bool  # it has a default, or a value when it is missing
    when_missing: Any  # ``NODEFAULT`` for the struct's own default, or for none


@cache
def shape_of(struct: type[Struct]) -> tuple[FieldShape, ...]:
    """Return the fields of a struct."""
    info = cast(inspect.StructType, inspect.type_info(struct))
    hints = get_type_hints(struct, include_extras=True)
    aliases: Mapping[str, tuple[str, ...]] = getattr(struct, "ALIASES", {})
    missing: Mapping[str, Any] = getattr(struct, "WHEN_MISSING", {})
    return tuple(
        FieldShape(
            name=field.name,
            type=field.type,
            hint=hints[field.name],
            names=tuple(dict.fromkeys(map(folded, (field.name, *aliases.get(field.name, ()))))),
            optional=not field.required or field.name in missing,
            when_missing=missing.get(field.name, NODEFAULT),
        )
        for field in info.fields
    )


def folded(name: str) -> str:
    return _SIGNS.sub("", name.lower())


def by_name(value: dict[str, Any]) -> dict[str, Any]:
    """Return an object's values by folded name; of two with one name the first."""
    return {folded(name): part for name, part in reversed(value.items())}


class Coercion:
    """Reads one reply; ``lost`` counts the items that were left out, by reason."""

    def __init__(self) -> None:
        self.lost = Counter[str]()

    def fields(self, value: dict[str, Any], struct: type[Struct]) -> dict[str, Any]:
        """Return the fields of a struct that an object has, in the types that they need."""
        sent = by_name(value)
        values = dict[str, Any]()
        for field in shape_of(struct):
            item = next((sent[name] for name in field.names if name in sent), NODEFAULT)
            if item is not NODEFAULT:
                item = self.value(item, field.type, field.hint)
            if field.optional and why_unfit(item, field.hint):
                item = field.when_missing
            if item is not NODEFAULT:
                values[field.name] = item
        return values

    def value(self, value: Any, type_: Any, hint: Any = Any) -> Any:
        """Return a value in the type it needs; one without a clear meaning is returned as it is."""
        if isinstance(value, str):  # msgspec refuses lone surrogates
            value = value.encode("utf-8", "ignore").decode("utf-8").strip()
        if isinstance(type_, inspect.ListType | inspect.VarTupleType):
            return self.items(value, type_, hint)
        if isinstance(value, list) and len(value) == 1:
            return self.value(value[0], type_, hint)
        match type_:
            case inspect.UnionType(types=types):
                known = [kind for kind in types if not isinstance(kind, inspect.NoneType)]
                return None if value is None else self.value(value, known[0])
            case inspect.IntType():
                return _integer(value)
            case inspect.BoolType():
                return _YES_NO.get(str(value).lower(), value)
            case inspect.StrType() if isinstance(value, int | float):
                return value if isinstance(value, bool) else str(value)
            case inspect.LiteralType(values=values):
                return _literal(value, values)
            case inspect.DictType(key_type=key, value_type=kind) if isinstance(value, dict):
                read = {self.value(k, key): self.value(v, kind) for k, v in value.items()}
                return {k: v for k, v in read.items() if not why_unfit({k: v}, hint)}
            case inspect.StructType(cls=struct) if isinstance(value, dict):
                return self.fields(value, struct)
        return value

    def items(self, value: Any, type_: inspect.ListType | inspect.VarTupleType, hint: Any) -> Any:
        """Return the items of a list that fit, each once, and no more than it may have."""
        every = _listed(value, type_.item_type)
        if not isinstance(every, list):
            return every
        kept = dict[bytes, Any]()
        for item in every:
            read = self.value(item, type_.item_type)
            if reason := why_unfit([read], hint):
                self.lost[reason] += 1
            elif read != "":
                kept.setdefault(msgspec.json.encode(read), read)
        most = type_.max_length if type_.max_length is not None else len(kept)
        if len(kept) > most:
            self.lost["more items than were asked for"] += len(kept) - most
        return list(kept.values())[:most]


def why_unfit(value: Any, hint: Any) -> str:
    """Return why a value, or the one item of a list, does not fit; "" if it does. Quotes nothing."""
    try:
        msgspec.convert(value, hint, strict=True)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
    else:
        return ""
    if "enum value" in what:
        what = "a value that is not in the list"
    elif "got `Misfit`" in what:
        what = "a number that is none or without end, or a field twice"
    where = where.removeprefix("[0]").strip(".`")
    return f"{what}, at {where}" if where else what


def _listed(value: Any, item: Any) -> Any:
    """Return a value as a list: null is none, and a single item is one."""
    if value is None:
        return []
    if isinstance(item, inspect.StrType) and isinstance(value, str):
        return value.splitlines()
    return [value] if isinstance(item, inspect.StructType) and isinstance(value, dict) else value


def _integer(value: Any) -> Any:
    """Return 4 for 4.0, "4", "[4]", "#4" or "turn 4"; anything else as it is."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    integer = _INTEGER.fullmatch(value) if isinstance(value, str) else None
    return int(integer[1]) if integer else value


def _literal(value: Any, values: Iterable[Any]) -> Any:
    """Return the listed value that is meant, in upper or lower case."""
    listed = tuple(values)
    if all(isinstance(item, int) for item in listed):
        return _integer(value)
    word = str(value).lower()
    return next((choice for choice in listed if str(choice).lower() == word), value)
