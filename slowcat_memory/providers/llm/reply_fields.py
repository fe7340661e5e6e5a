"""Brings the values of an LLM's reply into the types of its struct, where they have only one meaning.

A struct may declare, beside its fields:

``ALIASES``: by field, other names under which models send it, the likeliest first. Case, spaces and
underscores do not count. No value is put into a field because of its type alone.
``WHEN_MISSING``: by required field, the value of an item that lacks it.
``PROSE``: the field that a reply without any JSON is.

Unknown fields are ignored. A field with a default, or a ``WHEN_MISSING``, whose value cannot be read
counts as missing. An item of a list that does not fit costs itself, and is counted by the reason.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, inspect

_SIGNS = re.compile(r"[\W_]+")
_INTEGER = re.compile(
    r"[\[(#]?(?:[^\W\d_]{1,20}[.:]?)?\s{0,3}[\[(#]?(-?\d{1,18})(?:\.0{1,9})?[\])]?[.:]?"
)
_DECIMAL = re.compile(r"(-?\d{1,18}(?:\.\d{1,18})?)(\s?%)?")
_YES_NO = {
    **dict.fromkeys(("true", "yes", "y", "1", "ja", "wahr"), True),
    **dict.fromkeys(("false", "no", "n", "0", "nein", "falsch"), False),
}
# Words for the three levels of certainty, and the least number (0 to 1) of each.
_LEVELS = {
    "high": ("very high", "certain", "sure", "definite", "hoch", "sehr hoch", "sicher"),
    "medium": ("moderate", "mid", "middle", "average", "mittel", "mäßig"),
    "low": ("very low", "unsure", "uncertain", "doubtful", "niedrig", "gering", "unsicher"),
}
_LEAST = (("high", 0.75), ("medium", 0.4), ("low", 0.0))
_LEVEL_OF = {word: level for level, words in _LEVELS.items() for word in (level, *words)}
Names = Mapping[str, tuple[str, ...]]


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
    aliases: Names = getattr(struct, "ALIASES", {})
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
    elif "got `NoNumber`" in what:
        what = "a number that is none, or without end"
    elif "got `FieldTwice`" in what:
        what = "a field twice"
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
    """Return the listed value that is meant: in any case, and of levels by number or synonym."""
    listed = tuple(values)
    if all(isinstance(item, int) for item in listed):
        return _integer(value)
    if set(listed) == set(_LEVELS):
        return _level(value)
    word = str(value).lower()
    return next((choice for choice in listed if str(choice).lower() == word), value)


def _level(value: Any) -> Any:
    """Return a level: of a share (0 to 1), a percentage above 10, or a word."""
    text = str(value).lower()
    match = _DECIMAL.fullmatch(text)
    if match is None or isinstance(value, bool):
        return _LEVEL_OF.get(text, value)
    share = float(match[1])
    share = share / 100 if match[2] or share > 10 else share
    return next((level for level, least in _LEAST if least <= share <= 1), value)
