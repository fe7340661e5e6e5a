"""The sloppy model: mixes what a small model gets wrong with what is right.

It writes the `wrong` items of the turns in a prompt beside the good ones. A third of the prompts,
chosen by the job and the words of the first turn that is asked about, get a damaged reply as well
(``damage``); so a prompt that is put in other words is answered in the same way.
"""

import hashlib
from collections.abc import Iterable

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
