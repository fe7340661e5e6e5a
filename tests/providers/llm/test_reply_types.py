"""Every type of reply, with every fault of structure that has only one meaning, or costs one item."""

import ast
import importlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import fields

import slowcat_memory
from slowcat_memory.core.facts.prompt import FactReply, FactsReply
from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers.llm.reply_parsing import parse_reply, shape_of
from tests.support.rows import each_listed, each_row

PACKAGE = Path(slowcat_memory.__file__).parent


def reply_types() -> dict[str, type[Struct]]:
    """Return the second arguments of all calls ``complete(prompt, TYPE)`` of the jobs."""
    return {
        one.__name__: one for path in sorted(PACKAGE.glob("idle/jobs/**/*.py")) for one in _of(path)
    }


def _of(path: Path) -> Iterator[type[Struct]]:
    module = importlib.import_module(
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    )
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if called and node.func.attr == "complete" and len(node.args) == 2:  # type: ignore[union-attr]
            value: Any = module
            for name in ast.unparse(node.args[1]).split("."):  # type: ignore[union-attr]
                value = getattr(value, name)
            yield value


def list_fields(reply: type[Struct]) -> dict[str, Any]:
    """Return the types of the items of a reply's lists, by field."""
    hints = get_type_hints(reply)
    return {
        name: get_args(hint)[0]
        for name, hint in hints.items()
        if get_origin(hint) in (list, tuple) and name in reply.__struct_fields__
    }


def good(of: Any, number: int = 1) -> Any:
    """Return a value of a type as JSON; another ``number`` (1 to 9) makes another value."""
    if isinstance(of, type) and issubclass(of, Struct):
        hints = get_type_hints(of)
        return {name: good(hints[name], number) for name in of.__struct_fields__}
    origin, arguments = get_origin(of), get_args(of)
    if origin is Annotated:
        return good(arguments[0], number)
    if origin in (Union, UnionType):
        return good(next(one for one in arguments if one is not type(None)), number)
    if origin in (list, tuple):
        return [good(arguments[0], one) for one in (number, number + 1)]
    if origin is dict:
        return {"email": f"mira{number}@example.org"}
    if origin is Literal:
        return arguments[number % len(arguments)]
    return {int: number, bool: number % 2 == 1, float: 0.5, str: f"Mira moves {number}"}[of]


def read(value: Any, into: type[Struct]) -> Struct:
    return msgspec.convert(value, into, strict=True)


def structs(reply: type[Struct]) -> list[type[Struct]]:
    """Return a reply's type, and those of its items."""
    return [reply, *(one for one in list_fields(reply).values() if issubclass(one, Struct))]


TYPES = reply_types()
EVERY = each_row("reply", TYPES.values())
WITH_ITEMS = each_row(
    ("reply", "field"),
    [
        (reply, field)
        for reply in TYPES.values()
        for field, item in list_fields(reply).items()
        if issubclass(item, Struct)
    ],
)


def python_text(text: str) -> str:
    return re.sub(
        r"\b(true|false|null)\b", lambda f: {"null": "None"}.get(f[0], f[0].title()), text
    )


SAME: dict[str, Callable[[str], str]] = {
    "prose and a fence": lambda text: f"Sure! Here it is:\n```json\n{text}\n```\nAnything else?",
    "a think tag": lambda text: f'<think>Perhaps {{"turn": 1}}?</think>{text}',
    "a wrapper": lambda text: f'{{"result": {text}}}',
    "two wrappers": lambda text: f'{{"status": "ok", "data": {{"reply": {text}}}}}',
    "in a list": lambda text: f"[{text}]",
    "an unknown field": lambda text: text[:-1] + ', "explanation": {"why": ["it is said"]}}',
    "a trailing comma": lambda text: re.sub(r"(?=[}\]])", ",", text),
    "comments": lambda text: text.replace(", ", ", // so it was said\n/* really */ "),
    "single quotes": lambda text: text.replace('"', "'"),
    "Python's constants": python_text,
    "keys without quotes": lambda text: re.sub(r'"(\w+)": ', r"\1: ", text),
    "numbers as text": lambda text: re.sub(r": (\d+)(?=[,}])", r': "\1"', text),
    "numbers with a label": lambda text: re.sub(r": (\d+)(?=[,}])", r': "turn \1"', text),
    "numbers in brackets": lambda text: re.sub(r": (\d+)(?=[,}])", r': "[\1]"', text),
    "numbers with a point": lambda text: re.sub(r": (\d+)(?=[,}])", r": \1.0", text),
    "truth as words": lambda text: text.replace("true", '"Yes"').replace("false", '"no"'),
    "the list's end missing": lambda text: text[:-1],
    "line breaks for commas": lambda text: re.sub(r', (?=")', "\n", text),
    "a stray backslash": lambda text: text.replace("Mira", "M\\ira"),
    "every item twice": lambda text: json.dumps(doubled(json.loads(text))),
    "an empty one before": lambda text: f"{json.dumps(emptied(json.loads(text)))}\n{text}",
}


def doubled(value: Any) -> Any:
    lists = {name: one * 2 for name, one in value.items() if isinstance(one, list)}
    return value | lists


def emptied(value: Any) -> Any:
    return {name: type(one)() for name, one in value.items()}


@EVERY
@each_row("fault", SAME)
def test_reply_types_a_fault_with_one_meaning_costs_nothing(reply, fault):
    value = good(reply)
    text = SAME[fault](json.dumps(value))
    assert parse_reply(text, reply).value == read(value, reply)


@EVERY
def test_reply_types_a_field_under_any_other_name_or_spelling_is_read(reply: type[Struct]) -> None:
    value, tried = good(reply), 0
    for struct in structs(reply):
        for name, others in getattr(struct, "ALIASES", {}).items():
            for other in (*others, name.upper(), name.replace("_", " ").title()):
                sent = renamed(value, reply, struct, name, other)
                assert parse_reply(json.dumps(sent), reply).value == read(value, reply), other
                tried += 1
    assert tried > 4


def renamed(value: Any, reply: type[Struct], struct: type[Struct], name: str, other: str) -> Any:
    def of(one: Any) -> Any:
        return {other if key == name else key: inner for key, inner in one.items()}

    if struct is reply:
        return of(value)
    return value | {
        field: [of(one) for one in value[field]]
        for field, item in list_fields(reply).items()
        if item is struct
    }


@EVERY
def test_reply_types_a_name_means_one_field_and_every_table_names_fields(reply):
    for struct in structs(reply):
        names = [name for field in shape_of(struct) for name in field.names]
        assert len(names) == len(set(names)), struct
        assert getattr(struct, "ALIASES", {}).keys() == set(struct.__struct_fields__), struct
        assert getattr(struct, "WHEN_MISSING", {}).keys() <= set(struct.__struct_fields__)


SPOILERS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "a missing field": lambda item, name: {key: one for key, one in item.items() if key != name},
    "null": lambda item, name: item | {name: None},
    "an object": lambda item, name: item | {name: {"x": {"y": 1}}},
    "a list of lists": lambda item, name: item | {name: [[], []]},
}


@WITH_ITEMS
@each_row("spoiler", SPOILERS)
def test_reply_types_a_bad_item_costs_itself_and_not_its_neighbours(reply, field, spoiler):
    item = list_fields(reply)[field]
    first, bad, last = (good(item, number) for number in (1, 3, 2))
    needed = [one.name for one in shape_of(item) if not one.optional]
    assert needed
    for name in needed:
        value = good(reply) | {field: [first, SPOILERS[spoiler](bad, name), last]}
        parsed = parse_reply(json.dumps(value), reply)
        assert parsed.value == read(good(reply) | {field: [first, last]}, reply), name
        assert sum(parsed.lost.values()) == 1 and parsed.whole


@WITH_ITEMS
def test_reply_types_a_field_that_is_not_needed_costs_not_even_its_item(reply, field):
    item = list_fields(reply)[field]
    for one in shape_of(item):
        if one.optional:
            value = good(reply)
            value[field][0][one.name] = {"x": [{"y": 1}]} if one.name != "attributes" else 7
            assert len(getattr(parse_reply(json.dumps(value), reply).value, field)) == 2, one.name


@WITH_ITEMS
@each_row("fault", ["quotes", "colon", "brace"])
def test_reply_types_broken_json_costs_at_most_the_item_around_it(reply, field, fault):
    item = list_fields(reply)[field]
    items = [json.dumps(good(item, number)) for number in (1, 3, 2)]
    items[1] = {
        "quotes": items[1].replace("Mira moves", 'she said "Mira" moves', 1),
        "colon": items[1].replace('": ', '" ', 1),
        "brace": items[1].replace("{", "{{", 1),
    }[fault]
    rest = {name: one for name, one in good(reply).items() if name != field}
    text = json.dumps(rest)[:-1] + (", " if rest else "") + f'"{field}": [{", ".join(items)}]}}'
    parsed = parse_reply(text, reply).value
    kept = getattr(
        read(good(reply) | {field: [json.loads(items[0]), json.loads(items[2])]}, reply), field
    )
    found = getattr(parsed, field)
    assert (found[0], found[-1]) == (kept[0], kept[1]) and len(found) <= 3


@WITH_ITEMS
def test_reply_types_a_cut_reply_gives_its_whole_items_wherever_it_is_cut(reply, field):
    item = list_fields(reply)[field]
    others = {name: one for name, one in good(reply).items() if name != field}
    text = json.dumps(others | {field: [good(item, number) for number in (1, 2)]})
    whole = read(json.loads(text), reply)
    begun = text.index(f'"{field}"')
    first_ends = text.index(json.dumps(good(item, 1))) + len(json.dumps(good(item, 1)))
    for at in range(begun, len(text)):
        try:
            parsed = parse_reply(text[:at], reply)
        except BadAnswerError:
            required = {one.name for one in fields(reply) if one.required}
            assert at < first_ends and (field in required or not others)
            continue
        kept = getattr(parsed.value, field)
        assert list(kept) == list(getattr(whole, field))[: len(kept)] and not parsed.whole
        assert len(kept) >= (at >= first_ends)


@EVERY
def test_reply_types_nothing_is_made_of_a_reply_without_content(reply: type[Struct]) -> None:
    empty = emptied(good(reply))
    for text in (
        "{}",
        '{"error": "I cannot"}',
        '{"type": "object", "properties": {}}',
        "I cannot.",
    ):
        with pytest.raises(BadAnswerError):
            parse_reply(text, reply)
    if not any(isinstance(one, str) for one in empty.values()):
        assert parse_reply(json.dumps(empty), reply).value == read(empty, reply)


@each_listed("providers/reply_types.jsonl")
def test_reply_types_how_sure_a_model_is(sent: Any, meant: str) -> None:
    """What is not clear counts as missing, which is the cautious middle."""
    item = good(FactReply) | {"confidence": sent}
    (fact,) = parse_reply(json.dumps({"facts": [item]}), FactsReply).value.facts
    assert fact.confidence == meant


@each_listed("providers/reply_types.jsonl")
def test_reply_types_which_turn_is_meant(sent: Any, meant: int | None) -> None:
    kept = good(FactReply, 2)
    value = parse_reply(
        json.dumps({"facts": [good(FactReply) | {"turn": sent}, kept]}), FactsReply
    ).value
    assert [fact.turn for fact in value.facts] == ([2] if meant is None else [meant, 2])


def test_reply_types_no_text_is_cut_to_fit() -> None:
    long = good(FactReply) | {"content": "x" * 301}
    parsed = parse_reply(json.dumps({"facts": [long, good(FactReply, 2)]}), FactsReply)
    assert len(parsed.value.facts) == 1 and any("length" in why for why in parsed.lost)


def test_reply_types_of_more_items_than_were_asked_for_the_first_count() -> None:
    facts = [good(FactReply) | {"turn": turn} for turn in range(70)]
    parsed = parse_reply(json.dumps({"facts": facts}), FactsReply)
    assert [fact.turn for fact in parsed.value.facts] == list(range(60))
    assert parsed.lost == {"more items than were asked for": 10}
