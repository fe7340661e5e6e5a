"""Looks up in a played store what a model's items became."""

from collections import defaultdict
from collections.abc import Iterator

from benchmarks.written.diary import Exchange, Fact
from benchmarks.written.good import Piece
from benchmarks.written.play import Played
from benchmarks.written.shown import coverage, likeness, words
from slowcat_memory.core.extraction.slots import canonical
from slowcat_memory.core.memory import QUARANTINED, SEPARATOR, chunk_id, family
from slowcat_memory.core.text.normalize import fingerprint, fold
from slowcat_memory.records import Memory

KEPT = 0.8  # share of an item's words in a stored text


class Found:
    """What is stored, by exchange and kind."""

    def __init__(self, played: Played) -> None:
        self.played = played
        self.exchanges = {one.id: one for _, one in played.diary.exchanges()}
        self._by_exchange: dict[tuple[str, str], list[Memory]] = defaultdict(list)
        self._by_kind: dict[str, list[Memory]] = defaultdict(list)
        for memory in played.memories:
            kind = family(memory.kind)
            if memory.kind == QUARANTINED:
                continue
            self._by_kind[kind].append(memory)
            for id in played.cites(memory):
                self._by_exchange[kind, id].append(memory)
        self._logged = {f"{exchange}/{role}": id for id, (exchange, role) in played.turns.items()}
        self._contexts = {one.memory: one.text for one in played.contexts}
        self._keys: dict[str, set[str]] = defaultdict(set)
        for key in played.keys:
            self._keys[key.memory].add(fingerprint(key.text))
        self._called = {one.id: " ".join(_names(one)[:-1]) for one in self.of_kind("entity")}
        self._names = {fold(name) for entity in self.of_kind("entity") for name in _names(entity)}

    def of_kind(self, kind: str) -> list[Memory]:
        return self._by_kind[kind]

    def of_exchange(self, kind: str, id: str) -> list[Memory]:
        return self._by_exchange[kind, id]

    def kept(self, piece: Piece) -> str | None:
        """Return the stored text that an item became; None if it was not kept."""
        text = said(piece)
        if piece.kind == "relation" and ((stated := self._stated(piece)) or not piece.fault):
            return stated
        if piece.kind in ("fact", "relation"):
            memory = self.fact(piece, self.exchange_of(piece))
            return memory.text if memory else None
        if piece.kind == "entity":
            return self._named(str(piece.value["name"]))
        if piece.kind == "context":
            return self._described(piece, self._contexts.get(self.chunk(piece.key), ""))
        if piece.kind in ("question", "note"):
            return text if fingerprint(text) in self._keys[self.chunk(piece.key)] else None
        return next(
            (one.text for one in self.of_kind("summary") if self._described(piece, one.text)), None
        )

    def chunk(self, spot: str) -> str:
        """Return the memory id of a turn's own words; "" if it was not logged."""
        id = self._logged.get(spot)
        return chunk_id(id) if id else ""

    def exchange_of(self, piece: Piece) -> Exchange | None:
        """Return the exchange of an item on a user's turn."""
        if piece.kind == "fact" and not piece.fault:
            one, _ = self.played.diary.facts()[piece.key]
            return one
        id = piece.key.partition("/")[0].partition("!")[0].rpartition(".")[0]
        return self.exchanges.get(id) or self.exchanges.get(piece.key.partition("/")[0].partition("!")[0])  # fmt: skip

    def fact(self, piece: Piece, exchange: Exchange | None) -> Memory | None:
        """Return the stored fact that an item became, the likest of those that cite the turn."""
        if exchange is None:
            return None
        content = str(piece.value["content"])
        others = [one for one in _contents(exchange) if fingerprint(one) != fingerprint(content)]
        stored = [
            one
            for one in self.of_exchange("fact", exchange.id)
            if coverage(content, one.text) >= KEPT
            and likeness(content, one.text)
            >= max((likeness(o, one.text) for o in others), default=0)
            and not (piece.fault and _is_right(one, piece, exchange))
        ]
        return max(stored, key=lambda one: likeness(content, one.text), default=None)

    def of_fact(self, exchange: Exchange, fact: Fact) -> Memory | None:
        """Return the stored fact of a good fact, however it was worded for the prompt."""
        other = fact.otherwise.get("content")
        for content in (fact.content, other):
            if content:
                piece = Piece("fact", fact.id, {"content": content})
                if memory := self.fact(piece, exchange):
                    return memory
        return None

    def _described(self, piece: Piece, stored: str) -> str | None:
        """Return a stored text that holds an item's; for a wrong one, with what is wrong in it."""
        text = said(piece)
        if not piece.fault:
            return stored if coverage(text, stored) >= KEPT else None
        distinct = words(text) - words(self._good_text(piece))
        has = distinct & words(stored) if distinct else words(text) & words(stored)
        enough = 2 * len(has) >= len(distinct) if distinct else coverage(text, stored) >= KEPT
        return stored if enough and coverage(text, stored) >= 0.5 and has else None

    def _good_text(self, piece: Piece) -> str:
        """Return what should stand where a wrong text was given."""
        id, _, who = piece.key.partition("/")
        if one := self.exchanges.get(id):
            every = {"agent": (one.agent_context,), "user": (one.context, one.told)}
            return " ".join(every.get(who, (one.told,)))
        own = [c.summary for c in self.played.diary.conversations if c.id == piece.key]
        return " ".join(own)

    def _named(self, name: str) -> str | None:
        own = words(name)
        return next((one for one in self._names if own <= words(one)), None)

    def _stated(self, piece: Piece) -> str | None:
        exchange = self.exchange_of(piece)
        wanted = piece.value
        predicate = canonical(str(wanted["predicate"]))
        for one in self.of_exchange("fact", exchange.id if exchange else ""):
            said = one.statement
            subject = self._called.get(said.subject_id, "")
            object_ = self._called.get(said.object_id, said.object)
            same = _alike(subject, str(wanted["subject"])) and _alike(object_, str(wanted["object"]))  # fmt: skip
            if same and canonical(said.predicate) == predicate:
                return one.text
        return None

    def derived(self) -> Iterator[tuple[str, str]]:
        """Yield every text that was derived from turns, with where it stands."""
        for memory in self.played.memories:
            if memory.kind not in ("chunk", QUARANTINED) and family(memory.kind) != "note":
                yield memory.kind.partition("/")[0], memory.text
        yield from (("context", one.text) for one in self.played.contexts)
        yield from (("key", one.text) for one in self.played.keys if one.kind != "asked")
        yield from (("head", one) for one in self.played.heads)


def said(piece: Piece) -> str:
    """Return an item's text."""
    value = piece.value
    if not isinstance(value, dict):
        return str(value)
    for name in ("content", "context", "name", "text"):
        if value.get(name):
            return str(value[name])
    return " ".join(str(value.get(name, "")) for name in ("subject", "predicate", "object"))


def _names(entity: Memory) -> list[str]:
    also = entity.facets.get("also", "")
    return [entity.facets.get("name", ""), *(also.split(SEPARATOR) if also else ()), entity.text]


def _contents(exchange: Exchange) -> list[str]:
    """Return the contents of all facts that a model may write about an exchange."""
    others = (str(one.otherwise["content"]) for one in exchange.facts if "content" in one.otherwise)
    wrong = (one.content for one in exchange.wrong if one.kind == "fact")
    return [*(one.content for one in exchange.facts), *others, *wrong]


def _is_right(stored: Memory, piece: Piece, exchange: Exchange) -> bool:
    """Return whether a stored fact has what a good fact of the same words says of its day."""
    text, day = fingerprint(str(piece.value["content"])), stored.statement.date
    good = (one for one in exchange.facts if fingerprint(one.content) == text)
    return any(day == one.date or day != piece.value.get("date", "") for one in good)


def _alike(one: str, other: str) -> bool:
    mine, theirs = words(one), words(other)
    return bool(mine and theirs) and (mine <= theirs or theirs <= mine)
