"""The sloppy model: mixes what a small model gets wrong with what is right.

It writes the `wrong` items of the turns in a prompt beside the good ones. A third of the prompts,
chosen by the job and the words of the first turn that is asked about, get a damaged reply as well
(``DAMAGES``); so a prompt that is put in other words is answered in the same way.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import asdict, replace

from benchmarks.written.diary import Conversation, Exchange, Wrong
from benchmarks.written.good import GoodModel, Piece, Reply, Request, own_turns, statements
from benchmarks.written.shown import Shown

EVERY = 3  # one prompt of so many is damaged
_FIELDS = {
    "fact": ("type", "subject", "content", "quote", "confidence", "date"),
    "entity": ("name", "type", "attributes", "confidence"),
    "relation": ("subject", "predicate", "object", "quote", "over", "confidence"),
}  # fmt: skip


class SloppyModel(GoodModel):
    """Answers as a small model would."""

    def reply(self, request: Request) -> Reply:
        shown = self.reader.read(request.system, request.user)
        made = super().reply(request)
        changes = {"facts": self._worse_facts, "entities": self._worse_entities,
                   "turns": self._worse_contexts}  # fmt: skip
        if "summary" in made:
            return made | {"summary": self._worse_summary(made["summary"], shown)}
        for name, change in changes.items():
            if name in made:
                made[name] = change(made[name], shown)
        return made

    def seed(self, request: Request) -> int:
        """Return a number that depends on the job and on what is asked about alone."""
        shown = self.reader.read(request.system, request.user)
        first = next((spot.id for _, spot in shown.turns()), "")
        about = first or " ".join(line.text for line in shown.lines[:1]) or request.user[:80]
        words = f"{request.job}\0{about}".encode()
        return int.from_bytes(hashlib.blake2b(words, digest_size=4).digest(), "big")

    def _worse_facts(self, good: list[Piece], shown: Shown) -> list[Piece]:
        turns = own_turns(shown)
        related = [
            replace(one, value=statements([], {"": one.value})[0][0])
            for one in _wrong("relation", turns)
        ]
        return _mixed([*_wrong("fact", turns), *related], good)

    def _worse_entities(self, good: list[Piece], shown: Shown) -> list[Piece]:
        """Add wrong entities, and the names of wrong relations, which would be refused without."""
        every = _mixed(_wrong("entity", own_turns(shown)), good)
        known = {piece.value["name"] for piece in every}
        for _, one in own_turns(shown):
            for wrong in one.wrong:
                if wrong.kind == "relation" and wrong.subject not in known:
                    known.add(wrong.subject)
                    value = {"name": wrong.subject, "type": "person", "attributes": {}}
                    every.append(Piece("entity", "", value | {"confidence": "high"}, "of relation"))
        return every

    def _worse_contexts(self, good: list[Piece], shown: Shown) -> list[Piece]:
        return [one for piece in good for one in _worse_context(piece, shown)]

    def _worse_summary(self, good: Piece, shown: Shown) -> Piece:
        own = {spot.conversation.id: spot.conversation for spot in shown.spots()}
        wrong = next((c.wrong_summary for c in own.values() if c.wrong_summary), None)
        first = next(iter(own.values()), None)
        return Piece("summary", _id(first), wrong.text, wrong.fault) if wrong else good


def _id(conversation: Conversation | None) -> str:
    return conversation.id if conversation else ""


def _of_kind(kind: str, exchanges: Iterable[Exchange]) -> list[tuple[Exchange, Wrong]]:
    every = list({one.id: one for one in exchanges}.values())
    return [(one, wrong) for one in every for wrong in one.wrong if wrong.kind == kind]


def _wrong(kind: str, turns: Iterable[tuple[int, Exchange]]) -> list[Piece]:
    numbers = {one.id: number for number, one in turns}
    exchanges = {one.id: one for _, one in turns}
    return [
        Piece(
            kind,
            f"{one.id}!{one.wrong.index(wrong)}",
            {
                **({"turn": numbers[one.id]} if kind != "entity" else {}),
                **{name: asdict(wrong)[name] for name in _FIELDS[kind]},
            },
            wrong.fault,
        )
        for one, wrong in _of_kind(kind, exchanges.values())
    ]


def _mixed(wrong: list[Piece], good: list[Piece]) -> list[Piece]:
    """Return items in the order of their turns, a turn's wrong ones first."""
    return sorted([*wrong, *good], key=lambda piece: piece.value.get("turn", 0))


def _worse_context(piece: Piece, shown: Shown) -> list[Piece]:
    """Return an entry with the turn's wrong texts; wrong questions and notes go unsent, for judges."""
    id, _, who = piece.key.partition("/")
    if piece.kind != "context":
        return [piece]
    exchange = next(spot.exchange for spot in shown.spots() if spot.exchange.id == id)
    if who == "agent":
        return [piece]
    value, fault, more = dict(piece.value), "", list[Piece]()
    for wrong in exchange.wrong:
        if wrong.kind == "context":
            value["context"], fault = wrong.text, wrong.fault
        elif wrong.kind in ("question", "note"):
            name = f"{wrong.kind}s"
            value[name] = [wrong.text, *value[name]]
            more.append(Piece(wrong.kind, piece.key, wrong.text, wrong.fault, sent=False))
    return [replace(piece, value=value, fault=fault), *more]


# -------------------------------------------------------------------- damage of a whole reply


RENAMED = {
    "turn": "turn_id", "content": "fact", "context": "description", "predicate": "relation",
    "summary": "text", "text": "content", "name": "entity", "pair": "id", "line": "number",
    "value": "content",
}  # fmt: skip
EXAMPLES: dict[str, dict[str, Any]] = {
    "facts": {
        "turn": 7, "type": "preference", "subject": "Ada", "predicate": "likes",
        "object": "green tea", "over": False, "content": "Ada likes green tea.",
        "quote": "I like green tea", "confidence": "high", "date": "",
    },
    "entities": {"name": "Ada", "type": "person", "attributes": {}, "confidence": "high"},
    "turns": {"turn": 7, "context": "...", "questions": ["..."], "notes": []},
    "lines": {},
}  # fmt: skip
NO_FAULT = ""


def lists_of(reply: Reply) -> dict[str, list[Piece]]:
    """Return the reply's lists, by field."""
    return {
        name: value
        for name, value in reply.items()
        if isinstance(value, list) and any(isinstance(one, Piece) for one in value)
    }


def plain(reply: Reply) -> dict[str, Any]:
    """Return the reply as values for JSON."""

    def value(one: Any) -> Any:
        if isinstance(one, list):
            return [value(item) for item in one if not _unsent(item)]
        return one.value if isinstance(one, Piece) else one

    return {name: value(one) for name, one in reply.items()}


def pieces(reply: Reply) -> list[Piece]:
    """Return all items of a reply."""
    every = [
        one for value in reply.values() for one in (value if isinstance(value, list) else [value])
    ]
    return [one for one in every if isinstance(one, Piece)]


def _unsent(one: Any) -> bool:
    return isinstance(one, Piece) and not one.sent


def text_of(reply: Reply) -> str:
    return json.dumps(plain(reply), ensure_ascii=False)


Damaged = tuple[str, Reply]


def prose_and_fence(reply: Reply) -> Damaged:
    before = "Sure! Here is the JSON you asked for:\n\n```json\n"
    return f"{before}{text_of(reply)}\n```\nLet me know if you need anything else.", reply


def wrong_names(reply: Reply) -> Damaged:
    return json.dumps(_renamed(plain(reply)), ensure_ascii=False), reply


def _renamed(value: Any) -> Any:
    if isinstance(value, list):
        return [_renamed_item(one) for one in value]
    if any(isinstance(one, list) for one in value.values()) and "summary" not in value:
        return {name: _renamed(one) for name, one in value.items()}
    return _renamed_item(value)


def _renamed_item(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {RENAMED.get(name, name): one for name, one in value.items()}


def turn_as_text(reply: Reply) -> Damaged:
    return _each(reply, lambda value, n: value | {"turn": str(value["turn"])} if "turn" in value else value)  # fmt: skip


def odd_confidence(reply: Reply) -> Damaged:
    def odd(value: dict[str, Any], place: int) -> dict[str, Any]:
        return (
            value | {"confidence": 0.9 if place % 2 else "High"} if "confidence" in value else value
        )

    return _each(reply, odd)


def extra_field(reply: Reply) -> Damaged:
    return _each(reply, lambda value, n: value | {"explanation": "It is said in so many words."})


def _each(reply: Reply, change: Callable[[dict[str, Any], int], dict[str, Any]]) -> Damaged:
    """Change all items of the reply; one without items as a whole."""
    made = dict(reply)
    for name, items in lists_of(reply).items():
        made[name] = [
            replace(one, value=change(one.value, place)) if isinstance(one.value, dict) else one
            for place, one in enumerate(items)
        ]
    if not lists_of(reply):
        return json.dumps(change(plain(reply), 0), ensure_ascii=False), reply
    return text_of(made), made


def trailing_comma(reply: Reply) -> Damaged:
    text = text_of(reply)
    place = text.rfind("]")
    return (f"{text[:place]},{text[place:]}" if place > 0 else f"{text[:-1]},}}"), reply


def truncated(reply: Reply) -> Damaged:
    """Break off within the item after the first half of the longest list."""
    name = max(lists_of(reply), key=lambda one: len(reply[one]))
    sent = [one for one in reply[name] if not _unsent(one)]
    left = {**reply, name: sent[: len(sent) // 2]}
    before = {key: value for key, value in left.items() if key != name}
    items = "".join(json.dumps(one.value, ensure_ascii=False) + ", " for one in left[name])
    broken = json.dumps(sent[len(sent) // 2].value, ensure_ascii=False)
    head = "".join(f"{json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}, " for k, v in plain(before).items())  # fmt: skip
    return f'{{{head}"{name}": [{items}{broken[: 2 * len(broken) // 3]}', left


def bare_list(reply: Reply) -> Damaged:
    name = next(iter(lists_of(reply)))
    return json.dumps(plain({name: reply[name]})[name], ensure_ascii=False), reply


def too_long(reply: Reply) -> Damaged:
    """Put an item with a text of over 300 (600 for a context) characters in front."""
    made, name = dict(reply), next(iter(lists_of(reply)))
    first = reply[name][0]
    field = next(
        (f for f in ("content", "context", "object", "name", "value") if f in first.value), ""
    )
    text = f"{first.value.get(field, '')} And so it went on and on. ".ljust(60, "x") * 12
    least = 601 if field == "context" else 301
    wrong = Piece(first.kind, "", {**first.value, field: text[:least]}, "too long")
    made[name] = [wrong, *reply[name]]
    return text_of(made), made


def empty_first(reply: Reply) -> Damaged:
    empty = {name: [] if isinstance(value, list) else "" for name, value in plain(reply).items()}
    return f"{json.dumps(empty)}\n{text_of(reply)}", reply


def empty_list(reply: Reply) -> Damaged:
    left = {name: [] if isinstance(value, list) else value for name, value in reply.items()}
    return text_of(left), left


def shifted(reply: Reply) -> Damaged:
    """Give each turn the texts of the next."""
    sent = [one for one in reply["turns"] if not _unsent(one)]
    texts = [one.value for one in sent]
    moved = [
        replace(
            one, value=texts[(n + 1) % len(sent)] | {"turn": one.value["turn"]}, fault="shifted"
        )
        for n, one in enumerate(sent)
    ]
    made = {**reply, "turns": moved}
    return text_of(made), made


def copied_example(reply: Reply) -> Damaged:
    """Add the example of the prompt, under the number of a turn that is asked about."""
    made = dict(reply)
    for name, items in lists_of(reply).items():
        if example := EXAMPLES.get(name):
            turn = next((one.value["turn"] for one in items if "turn" in one.value), None)
            value = {
                **example,
                **({"turn": turn} if turn is not None and "turn" in example else {}),
            }
            made[name] = [Piece(items[0].kind, "", value, "copied example"), *items]
    return text_of(made), made


Damage = Callable[[Reply], Damaged]
DAMAGES: dict[str, Damage] = {
    "prose and fence": prose_and_fence, "wrong names of fields": wrong_names,
    "turn as text": turn_as_text, "odd confidence": odd_confidence,
    "trailing comma": trailing_comma, "truncated": truncated, "bare list": bare_list,
    "extra field": extra_field, "too long": too_long, "empty first object": empty_first,
    "empty list": empty_list, "shifted": shifted, "copied example": copied_example,
}  # fmt: skip
_OF_ITEMS = {
    "turn as text": "turn", "odd confidence": "confidence", "too long": "", "copied example": "",
    "truncated": "", "bare list": "", "empty list": "",
}  # fmt: skip


def possible(reply: Reply) -> list[str]:
    """Return the names of the damages that a reply can have."""
    lists = lists_of(reply)
    found = list[str]()
    for name in DAMAGES:
        if name == "shifted":
            fits = len([one for one in lists.get("turns", ()) if not _unsent(one)]) > 1
        elif name == "bare list":
            fits = len(lists) == 1 and len(reply) == 1
        elif name == "copied example":
            fits = any(EXAMPLES.get(one) for one in lists)
        elif name in _OF_ITEMS:
            fits = _have(lists, _OF_ITEMS[name])
        else:
            fits = True
        if fits:
            found.append(name)
    if "shifted" in found:  # what a small model does most often with contexts
        return [one for name in found for one in (name, "shifted")]
    return found


def _have(lists: dict[str, list[Piece]], field: str) -> bool:
    items = [one.value for value in lists.values() for one in value if not _unsent(one)]
    return (
        bool(items)
        and all(isinstance(one, dict) for one in items)
        and (not field or any(field in one for one in items))
    )
