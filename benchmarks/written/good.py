"""The good model: answers a prompt with what the diary says of the turns that the prompt shows.

The reply has the fields that the product's schema asks for, each filled by the function of its name;
so a prompt of other words, or one that asks for several things at once, is answered too. What the
diary does not know is left empty.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from benchmarks.written.diary import Conversation, Diary, Exchange, Fact, Item
from benchmarks.written.shown import Line, Reader, Shown, Spot, likeness, overlap
from slowcat_memory.core.text.normalize import fingerprint

FEW_WORDS = {"en": "{} talks to {}.", "de": "{} spricht mit {}."}
OF_ITEM = frozenset({"needs", "otherwise", "id"})
ALIKE = 0.6  # share of words from which a text is taken for a fact
_PAIR = re.compile(r"^(\d+)[.):]? (older|newer)\b[^:]*: (.*)$", re.M)
SUMMARY_FIELDS = ("topics", "entities", "tone", "relationship")


class Request(Struct, frozen=True):
    """A prompt as a server sees it: its texts, the job's name, and the schema of the reply."""

    job: str
    system: str
    user: str
    schema: dict[str, Any]


class Piece(Struct, frozen=True):
    """One item of a reply.

    Attributes:
        kind: "fact", "entity", "relation", "context", "summary", or the reply's field;
            "few words" for the context of a turn that the diary says nothing of.
        key: What of the diary it is: the fact's id, or the turn and a number.
        value: As it stands in the reply.
        fault: Of a wrong item; "" for a good one.
        sent: Whether it stands in the reply by itself, not within another item.
    """

    kind: str
    key: str
    value: Any
    fault: str = ""
    sent: bool = True


Reply = dict[str, Any]  # values, or lists of `Piece`


class GoodModel:
    """Answers as a careful strong model would."""

    def __init__(self, diary: Diary) -> None:
        self.diary, self.reader = diary, Reader(diary)
        self._pairs = Pairs(diary)
        self._fields: dict[str, Callable[[Request, Shown], Any]] = {
            "facts": self._facts, "entities": self._entities, "turns": self._contexts,
            "pairs": self._verdicts, "lines": self._lines, "grades": self._grades,
        }  # fmt: skip

    def reply(self, request: Request) -> Reply:
        """Return the reply's fields; items that can be judged are `Piece`."""
        shown = self.reader.read(request.system, request.user)
        wanted = request.schema.get("properties", {})
        if "summary" in wanted:
            return self._summary(request, shown)
        return {
            name: self._fields[name](request, shown) if name in self._fields else _empty(rule)
            for name, rule in wanted.items()
        }

    # ------------------------------------------------------------------ of turns

    def _facts(self, request: Request, shown: Shown) -> list[Piece]:
        return [
            piece for number, one in own_turns(shown) for piece in _statements(number, one, shown)
        ]

    def _entities(self, request: Request, shown: Shown) -> list[Piece]:
        found = dict[str, Piece]()
        for _, one in own_turns(shown):
            for entity in one.entities:
                if made := given(entity, shown):
                    found.setdefault(fingerprint(entity.name), Piece("entity", entity.name, made))
        return list(found.values())

    def _contexts(self, request: Request, shown: Shown) -> list[Piece]:
        """Return an entry for each turn, as the prompt wants it: a few words for small talk."""
        return [self._described(number, spot) for number, spot in shown.turns()]

    def _described(self, number: int, spot: Spot) -> Piece:
        entry = {"turn": number, **described(spot)}
        if entry["context"]:
            return Piece("context", spot.id, entry)
        who = (self.diary.agent, self.diary.user)
        words = FEW_WORDS[self.diary.language].format(*(who if spot.agent else reversed(who)))
        return Piece("few words", spot.id, entry | {"context": words})

    # ------------------------------------------------------------------ of conversations

    def _summary(self, request: Request, shown: Shown) -> Reply:
        made = self._summed(request, shown)
        rest = {name: made.get(name) or _nothing(name) for name in SUMMARY_FIELDS}
        return {"summary": Piece("summary", made.get("key", ""), made["summary"]), **rest}

    def _summed(self, request: Request, shown: Shown) -> dict[str, Any]:
        spots = shown.spots()
        if request.job == "window_summary" and spots:
            named = [entity.name for spot in spots for entity in spot.exchange.entities]
            return {"summary": joined(spots), "entities": list(dict.fromkeys(named))[:12]}
        if spots:
            return of_conversation(_most_shown(spots))
        parts = [c for line in shown.lines if (c := self.reader.conversation_of(line))]
        parts = list({c.id: c for c in parts}.values())
        return self._period(shown.days, parts)

    def _period(self, days: Sequence[date], parts: Sequence[Conversation]) -> dict[str, Any]:
        """Return the summary of a day or of a week; that of the conversations if it has none."""
        if len(parts) == 1 and len(days) < 2:
            return of_conversation(parts[0])
        texts = {one.monday.isocalendar()[:2]: one.summary for one in self.diary.weeks}
        if len(days) == 1:
            text = next((one.summary for one in self.diary.days if one.date == days[0]), "")
        else:
            text = texts.get(days[0].isocalendar()[:2], "") if days else ""
        return {**_sum_of(parts), **({"summary": text} if text else {})}

    # ------------------------------------------------------------------ of what is known

    def _verdicts(self, request: Request, shown: Shown) -> list[Piece]:
        return [
            Piece("pair", f"{one.older}|{one.newer}", {"pair": n, "same_fact": one.same, "text": one.text})
            for n, one in self._pairs.of(request.user)
        ]  # fmt: skip

    def _lines(self, request: Request, shown: Shown) -> list[Piece]:
        """Return a block's lines that are true on the latest day of the record."""
        last = shown.days[-1] if shown.days else self.diary.asked_at.date()
        label = request.user.rstrip(" .").rsplit(" ", 1)[-1].lower()
        return [
            Piece("line", one.text, one.text)
            for one in self.diary.lines
            if one.block == label and one.since <= last and (one.until is None or one.until > last)
        ]

    def _grades(self, request: Request, shown: Shown) -> list[Piece]:
        """Grade what was found by the exchanges that answer the turn."""
        head, _, _ = request.user.partition("\nFound:")
        asked = self.reader.read("", f"0. {head.rstrip()}").spots()
        wanted = set(asked[-1].exchange.answers) if asked else set()
        grades = [(line.number, self._states(line, wanted)) for line in shown.lines]
        return [Piece("grade", "", {"line": n, "grade": 2 if yes else 0}) for n, yes in grades]

    def _states(self, line: Line, wanted: set[str]) -> bool:
        if line.spot is not None:
            return line.spot.exchange.id in wanted
        text = line.text.partition(": ")[2]
        return any(
            overlap(fact.content, text) >= 0.8
            for one, fact in self.diary.facts().values()
            if one.id in wanted
        )


def own_turns(shown: Shown) -> list[tuple[int, Exchange]]:
    """Return the user's turns that are asked about."""
    return [(number, spot.exchange) for number, spot in shown.turns() if not spot.agent]


def _statements(number: int, one: Exchange, shown: Shown) -> list[Piece]:
    """Return the facts of a turn, and its relations within facts or as facts of their own."""
    facts = [(fact.id, made) for fact in one.facts if (made := given(fact, shown))]
    relations = {
        f"{one.id}.{place}": made
        for place, relation in enumerate(one.relations)
        if (made := given(relation, shown))
    }
    pieces = list[Piece]()
    for place, (fact, key) in enumerate(statements([fact for _, fact in facts], relations)):
        own = place < len(facts)
        kind, id = ("fact", facts[place][0]) if own else ("relation", key)
        pieces.append(Piece(kind, id, {"turn": number} | fact))
        if own and key:
            pieces.append(Piece("relation", key, relations[key], sent=False))
    return pieces


def given(item: Item, shown: Shown) -> dict[str, Any] | None:
    """Return an item's fields, as far as the prompt shows what it needs; None without them."""
    fields = {name: value for name, value in asdict(item).items() if name not in OF_ITEM}
    if isinstance(item, Fact):
        del fields["since"]  # the oracle's
    if shown.has(item.needs):
        return fields
    return fields | item.otherwise if item.otherwise else None


def described(spot: Spot) -> dict[str, Any]:
    """Return what places a turn."""
    one = spot.exchange
    if spot.agent:
        return {"context": one.agent_context, "questions": [*one.agent_questions], "notes": []}
    return {"context": one.context, "questions": [*one.questions], "notes": [*one.notes]}


def of_conversation(one: Conversation) -> dict[str, Any]:
    """Return the good summary of a conversation."""
    return {
        "summary": one.summary, "topics": [*one.topics], "entities": [*one.entities],
        "tone": one.tone, "relationship": one.relationship, "key": one.id,
    }  # fmt: skip


def joined(spots: Iterable[Spot]) -> str:
    """Return what the exchanges tell."""
    return " ".join(dict.fromkeys(spot.exchange.told for spot in spots if spot.exchange.told))


def _most_shown(spots: Sequence[Spot]) -> Conversation:
    every = [spot.conversation for spot in spots]
    ids = [one.id for one in every]
    return max(every, key=lambda one: ids.count(one.id))


def _sum_of(parts: Sequence[Conversation]) -> dict[str, Any]:
    every = [of_conversation(one) for one in parts]
    return {
        "summary": " ".join(one["summary"] for one in every),
        "topics": list(dict.fromkeys(t for one in every for t in one["topics"]))[:6],
        "entities": list(dict.fromkeys(e for one in every for e in one["entities"]))[:12],
        "key": " ".join(one["key"] for one in every),
    }


def _nothing(field: str) -> Any:
    return "" if field in ("tone", "relationship") else []


def _empty(rule: dict[str, Any]) -> Any:
    return {"array": [], "object": {}, "string": "", "boolean": False}.get(rule.get("type", ""), 0)


def statements(
    facts: list[dict[str, Any]], relations: dict[str, dict[str, Any]]
) -> list[tuple[dict[str, Any], str]]:
    """Return facts and relations that were written apart in the form of one reply.

    Args:
        facts: Of one turn.
        relations: Of the same turn, by a key.

    Returns:
        The facts, each with the predicate and object of the relation that it states, then the
        other relations as facts; each with the relation's key, "" for none.
    """
    rest, made = dict(relations), list[tuple[dict[str, Any], str]]()
    for fact in facts:
        key = next((key for key, one in rest.items() if _states(fact, one)), "")
        related = rest.pop(key, {})
        parts = ("predicate", "object", "over")
        made.append((fact | {name: related[name] for name in parts if name in related}, key))
    for key, one in rest.items():
        text = _sentence(one["subject"], one["predicate"], one["object"])
        made.append(({"type": "person", "content": text, "confidence": "high"} | one, key))
    return made


def _sentence(subject: str, predicate: str, object: str) -> str:
    """Return a triple as a plain sentence without additional words."""
    if predicate == "age":
        return f"{subject} is {object} years old."
    if predicate in ("name", "address", "birthday", "email", "phone"):
        return f"{subject}'s {predicate} is {object}."
    if predicate.startswith(("has_", "favourite_")):
        return f"{subject}'s {predicate.removeprefix('has_').replace('_', ' ')} is {object}."
    return f"{subject} {predicate.replace('_', ' ')} {object}."


def _states(fact: dict[str, Any], relation: dict[str, Any]) -> bool:
    """Return whether a fact is about a relation's subject, names its object, and quotes its words."""
    same = fingerprint(fact["subject"]) == fingerprint(relation["subject"])
    quotes = (fingerprint(fact["quote"]), fingerprint(relation.get("quote", "")))
    near = quotes[0] in quotes[1] or quotes[1] in quotes[0]
    named = f" {fingerprint(relation['object'])} " in f" {fingerprint(fact['content'])} "
    return same and near and named


# -------------------------------------------------------------------- pairs of facts


class PairVerdict(Struct, frozen=True):
    """A pair, by the ids of its facts ("" for unknown), and the good answer."""

    older: str
    newer: str
    same: bool
    text: str = ""


class Pairs:
    """Answers pairs of facts."""

    def __init__(self, diary: Diary) -> None:
        self._texts = {fact.content: id for id, (_, fact) in diary.facts().items()}
        self._texts |= {one.text: one.newer for one in diary.same if one.text}
        self._joins = {frozenset((one.older, one.newer)): one.text for one in diary.same}
        self._replaced = dict[str, set[str]]()
        for one in diary.changes:
            self._replaced.setdefault(one.older, set()).add(one.newer)

    def of(self, user: str) -> Iterator[tuple[int, PairVerdict]]:
        """Yield the numbers of the pairs in a prompt, each with its answer."""
        shown: dict[int, dict[str, str]] = {}
        for number, which, text in _PAIR.findall(user):
            shown.setdefault(int(number), {})[which] = text
        for number, one in shown.items():
            yield number, self.verdict(one.get("older", ""), one.get("newer", ""))

    def verdict(self, older: str, newer: str) -> PairVerdict:
        """Return the answer for two texts."""
        one, other = self.fact_of(older), self.fact_of(newer)
        pair = frozenset((one, other))
        if pair in self._joins:
            return PairVerdict(one, other, True, self._joins[pair])
        same = bool(one) and (
            one == other or self.replaces(one, other) or self.replaces(other, one)
        )
        return PairVerdict(one, other, same)

    def replaces(self, older: str, newer: str) -> bool:
        """Return whether a fact takes another's place, at once or by steps."""
        found, left = set[str](), [older]
        while left:
            for id in self._replaced.get(left.pop(), set()) - found:
                found.add(id)
                left.append(id)
        return newer in found

    def fact_of(self, text: str) -> str:
        """Return the id of the fact that a text is: equal, else most of its words; "" for none."""
        scored = [(likeness(text, one), id) for one, id in self._texts.items()]
        score, id = max(scored, default=(0.0, ""))
        return id if score >= ALIKE else ""
