"""Reads without a deadline: searches (also as of a moment), graph, hotwords. Blocks.

Of summaries, topics, episodes and facts, which no index holds, a memory is scored by its own text,
and by the turns that it was made from: these have vectors already, as facts have. Only the most
promising ones are read, and embedded where they have none; these vectors are kept for the next
search.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from msgspec.structs import replace

from slowcat_memory.clock import Clock
from slowcat_memory.core.catalogue import searched_text
from slowcat_memory.core.disclosure import (
    Reader,
    disclose,
    may_read,
)
from slowcat_memory.core.extraction.slots import with_entities
from slowcat_memory.core.facts.fact import is_fact, key_id
from slowcat_memory.core.memory import (
    ENTITY,
    EPISODE,
    FACT,
    NOTE,
    SUMMARY,
    as_of,
    chunk,
    chunk_id,
    held_at,
    indexed_text,
)
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.ranking.score import probability
from slowcat_memory.core.summaries.summary import KINDS
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.rare_words import rare_words
from slowcat_memory.engine.wiring import EngineWiring
from slowcat_memory.errors import ConfigError
from slowcat_memory.providers import sends_texts_away
from slowcat_memory.records import Disclosed, Hit, Hotword, Memory, Session, Turn
from slowcat_memory.runtime.recall import time_travel
from slowcat_memory.runtime.recall.choosing import with_endings
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.runtime.recall.time_travel import StoreThen
from slowcat_memory.runtime.session_head import SLACK
from slowcat_memory.store import Snapshot

if TYPE_CHECKING:
    from slowcat_memory.core.graph.portrait import Graph


def latest_session(snapshot: Snapshot, scope: str, now: datetime) -> Session | None:
    """Return the session that was active last, of those that are not in the future."""
    sessions = (session for session in snapshot.sessions(scope) if session.last <= now + SLACK)
    return max(sessions, key=lambda session: session.last, default=None)


MOST_NAMES = 3000  # hotwords that are looked through
FILTERED = 100  # hits to scan for those of the right time or speaker


SEARCHED = (SUMMARY, *KINDS, EPISODE, FACT, NOTE)  # kinds that can be asked for
EMBEDDED = 96  # texts that one search embeds at most: a second or so, once
KEPT_VECTORS = 2000
OWN = 0.7  # weight of a memory's own text; the rest is that of its turns
TURNS = 50  # hits among turns that count for what was made from them
FAINT = 0.02  # a lower score is no hit

# A memory with its share of the query's words, and its turns' likelihood.
Found = tuple[Disclosed, float, float]


class QueryArguments(TypedDict, total=False):
    """Options of a recall and of a search.

    Attributes:
        also: Other namespaces to read beside the one asked.
        local: Whether the hits stay on this machine; otherwise local-only ones are excluded.
        now: The time of the question; None for now.
        exclude: Ids of memories not to return.
        exclude_words: Fingerprints of texts not to return.
        dialogue: The turns before, oldest first.
    """

    also: Sequence[str]
    local: bool
    now: datetime | None
    exclude: frozenset[str]
    exclude_words: frozenset[str]
    dialogue: Sequence[DialogueTurn]


class SearchArguments(QueryArguments, total=False):
    """Options of a search; ``also`` is not combined with the last four.

    Attributes:
        talk: Whether turns that say nothing, such as questions and fillers, may be hits. By default
            unless the text is a question, whose own copies would come before its answer.
        floor: Least probability of the likeliest of the best hits; below it, only pinned ones.
        speaker: Only their words, by name or part of a name.
        since: Only what was said at or after this moment.
        until: Only what was said before this moment.
        at: What was believed at this moment, including memories retired since.
        kinds: Instead of what recall finds, memories of these kinds: "summary", "session", "day",
            "week", "topic", "window", "meta", "episode", "fact", "note". Not combined with the
            arguments above, except ``local``, ``now``, ``since`` and ``until``.
    """

    talk: bool
    floor: float
    speaker: str
    since: datetime | None
    until: datetime | None
    at: datetime | None
    kinds: Sequence[str]


def build_query(clock: Clock, text: str, scope: str, /, **how: Unpack[SearchArguments]) -> Query:
    """Return a query; without a floor, with the thresholds of the options."""
    fields: dict[str, Any] = {**how, "now": how.get("now") or how.get("at") or clock()}
    fields |= {name: tuple(fields[name]) for name in ("dialogue", "also") if name in fields}
    fields = {name: value for name, value in fields.items() if name in Query.__struct_fields__}
    return Query(text=text, scope=scope, **fields)


class Search:
    """Searches for callers that can wait."""

    def __init__(self, wiring: EngineWiring) -> None:
        self._wiring, self._embedding = wiring, wiring.embedding
        self._vector = lru_cache(KEPT_VECTORS)(self._embed)
        wiring.query_caches.append(self._vector.cache_clear)

    def turns(self, text: str, scope: str, k: int, how: SearchArguments) -> Recollection:
        """Search what recall finds; if that is too few hits for a filter, scan all turns."""
        wiring, speaker = self._wiring, how.get("speaker", "")
        since, until, at = how.get("since"), how.get("until"), how.get("at")
        is_filtered = bool(speaker or since or until or at)
        within = time_travel.within(speaker, since, until)
        talk = not judge(text, wiring.config.memory.language).asks
        defaults: SearchArguments = {"floor": 0.0, "talk": talk}
        query = build_query(wiring.clock, text, scope, **(defaults | how))
        query = replace(query, k=max(k, FILTERED) if is_filtered else k, keep_share=0.0)
        recollection = wiring.retrieval.search(query)
        if not is_filtered:
            return recollection

        def matches(memory: Memory) -> bool:
            return within(memory) and (at is None or held_at(memory, at))

        hits = [hit for hit in recollection.hits if matches(hit.memory)]
        reader = wiring.reader(scope, local=query.local)
        with wiring.store.snapshot() as snapshot:
            few = len(hits) < k
            turns = time_travel.said_between(snapshot, scope, since, until or at) if few else ()
            # The index no longer holds what was retired since then.
            retired = () if at is None else time_travel.retired(snapshot, scope, at)
            read = (
                shown
                for memory in chain(retired, turns)
                if memory.id not in query.exclude
                and matches(memory)
                and (shown := disclose(memory, reader))
            )
            more = time_travel.scan(read, recollection.words, wiring.tokenizer, k)
        more = with_endings(more, wiring.namespaces, scope, query.now)
        return replace(recollection, hits=time_travel.merged(hits, more, k))

    def derived(self, text: str, scope: str, k: int, how: SearchArguments) -> Recollection:
        """Search memories of some kinds, which no index holds."""
        wiring, kinds, local = self._wiring, kinds_of(how["kinds"]), how.get("local", False)
        now = how.get("now") or wiring.clock()
        turns = wiring.retrieval.search(
            Query(text=text, scope=scope, now=now, k=TURNS, floor=0.0, keep_share=0.0, local=local)
        )
        within = time_travel.within("", how.get("since"), how.get("until"))
        reader = wiring.reader(scope, local=local)
        words, total = turns.words, sum(turns.words.values()) or 1.0
        likely = {hit.memory.id: hit.probability for hit in turns.hits}
        with wiring.store.snapshot() as snapshot:
            with wiring.catalogue(scope, snapshot) as catalogue:
                shares = {word: weight / total for word, weight in words.items()}
                rows = catalogue.ranked(kinds, shares, likely)
                current = (hit for hit in rows if not hit[0].retired_at and within(hit[0]))
                readable = (hit for hit in current if may_read(hit[0], reader))
                promising = list(islice(readable, 2 * max(EMBEDDED, k)))
            candidates = [
                (shown, own, behind)
                for row, own, behind in promising
                if (memory := snapshot.memory(scope, row.id))
                and memory.text.strip()
                and (shown := disclose(memory, reader))
            ]
            hits = self._rank(text, candidates, snapshot)[:k]
        return replace(turns, hits=hits, unknown=not hits)

    def _rank(self, query: str, candidates: Sequence[Found], snapshot: Snapshot) -> list[Hit]:
        """Return the memories that match, best first, without a text that is there already.

        Args:
            candidates: The most promising ones, best first.
        """
        cosines = self._cosines(query, [memory for memory, _, _ in candidates], snapshot)
        likely = probability(np.array([share for _, share, _ in candidates]), cosines)
        hits = [
            Hit(
                memory=memory,
                score=round(OWN * own + (1 - OWN) * behind, 4),
                probability=max(own, behind),
                coverage=round(share, 4),
                cosine=None if np.isnan(cosine) else cosine,
            )
            for (memory, share, behind), own, cosine in zip(
                candidates, likely.tolist(), cosines.tolist(), strict=True
            )
        ]
        best = [hit for hit in sorted(hits, key=lambda hit: hit.score) if hit.score >= FAINT]
        once = {fingerprint(hit.memory.text): hit for hit in best}  # of equal texts, the best hit
        return sorted(once.values(), key=lambda hit: -hit.score)

    def _cosines(self, query: str, memories: Sequence[Disclosed], snapshot: Snapshot) -> np.ndarray:
        """Return the cosines of the query with memories; NaN for one that has none."""
        cosines = np.full(len(memories), np.nan)
        asked = self._embedding.query(query)
        if asked is None:
            return cosines
        away, space = sends_texts_away(self._embedding.embedder), self._embedding.space.key
        for place, row in enumerate(memories[:EMBEDDED]):
            if away and row.local_only:
                continue
            stored = snapshot.vector(space, row.scope, key_id(row)) if is_fact(row) else None
            values = stored.values if stored else self._vector(space, searched_text(row))
            cosines[place] = values @ asked.vector
        return cosines

    def _embed(self, key: str, text: str) -> np.ndarray:
        """Return the vector of a text in the space ``key``, which is that of the model in use."""
        return self._embedding.embedder.encode([text]).vectors[0]  # type: ignore[union-attr]  # a query was embedded


def hotwords(
    engine: EngineWiring, scope: str, n: int = 100, *, local: bool = False
) -> list[Hotword]:
    """Return a scope's names, and words frequent there and rare elsewhere, for an STT.

    Words of muted memories alone are left out. Reads every memory of the scope.

    Args:
        local: Whether the STT runs on this machine; otherwise words that only local-only memories
            hold are left out.

    Returns:
        None for the guests' scope.
    """
    reader = engine.reader(scope, local=local)
    if scope not in reader.scopes:
        return []
    namespace = engine.namespaces.get(scope)
    with engine.snapshot() as snapshot:
        memories = list(snapshot.memories(scope))
        if not any(memory.muted or (memory.local_only and not local) for memory in memories):
            return namespace.searcher.hotwords(n)
        turns = (turn for turn in snapshot.turns(scope) if not turn.aside)
        chunks = (snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn) for turn in turns)
        shown = filter(None, (disclose(memory, reader) for memory in chain(memories, chunks)))
        words = {word for memory in shown for word in _words_of(memory)}
    names = namespace.searcher.hotwords(MOST_NAMES)
    return [name for name in names if name.word.lower() in words][:n]


def _words_of(memory: Memory) -> set[str]:
    """Return the words that ``NameLexicon`` counts of a memory, in lower case."""
    rare = rare_words(indexed_text(memory))
    return {word.form.lower() for word in rare} | set(memory.speaker.lower().split())


def recall_before(engine: EngineWiring, turn: Turn, query: Query) -> Recollection:
    """Recall from what was stored before a turn, with today's options and no deadline.

    The index is rebuilt in memory, which takes a second and 60 MB for 10,000 turns; so this
    needs an engine in the same process.
    """
    then: Any = StoreThen(engine.store, turn.at, turn.id - 1)  # without sessions
    namespaces = engine.namespaces_of(then)
    for scope in dict.fromkeys((query.scope, *query.also)):
        if not namespaces.is_guests(scope):
            namespaces.get(scope).finish_opening()
    retrieval = dataclasses.replace(engine.retrieval, namespaces=namespaces)
    return retrieval.answer(query)


def read_graph(
    memory: EngineWiring,
    scope: str,
    *,
    true: datetime | None = None,
    known: datetime | None = None,
    local: bool = True,
) -> "Graph":
    """Read the graph of a namespace, without relations of hidden turns.

    Facts that no turn states, such as imported ones, are part of it.

    Args:
        true: Only relations that held at this moment; None for past ones as well.
        known: As believed at this moment; None for now.
        local: Whether it stays on this machine; otherwise local-only entities are excluded.
    """
    from slowcat_memory.core.graph.portrait import Graph, relations_of  # not at every start

    reader = memory.reader(scope, local=local)
    with memory.snapshot() as snapshot:
        entities, facts = (
            [shown for memory in rows if (shown := disclose(memory, reader))]
            for rows in (snapshot.memories(scope, f"{kind}/") for kind in (ENTITY, FACT))
        )
        sources = {turn for fact in facts for turn in fact.sources}
        rows = ((turn, snapshot.read(scope, chunk_id(turn))) for turn in sources)
        chunks = {turn: chunk for turn, chunk in rows if chunk is not None}
    hidden = {turn for turn, chunk in chunks.items() if chunk.retired_at is not None}
    facts = [fact for fact in facts if hidden.isdisjoint(fact.sources)]
    entities, facts = _one_user(entities, facts, reader)
    said_at = {turn: chunk.valid_from for turn, chunk in chunks.items()}
    current = (entity for entity in entities if entity.retired_at is None)
    others, relations = relations_of(facts, current, said_at)
    every = as_of(relations, true, known)
    every.sort(key=lambda row: (row.valid_from, row.recorded_at or row.valid_from, row.id))
    return Graph((*entities, *others), every, memory.clock())


def _one_user(
    entities: Sequence[Disclosed], facts: Iterable[Disclosed], reader: Reader
) -> tuple[list[Disclosed], list[Disclosed]]:
    """Merge the entities of a user's earlier and present names, which have one name by now."""
    names = {change.now for change in reader.called}
    first: dict[tuple[str, str], str] = {}
    same = dict[str, str]()
    for entity in entities:
        name = entity.facets.get("name", "")
        if name in names and entity.retired_at is None:
            same[entity.id] = first.setdefault((name, entity.facets.get("type", "")), entity.id)
    kept = [entity for entity in entities if same.get(entity.id, entity.id) == entity.id]
    return kept, [replace(fact, statement=with_entities(fact.statement, same)) for fact in facts]


def kinds_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return the kinds that names mean: "topic" and "summary/topic" are one.

    Raises:
        ConfigError: There is no such kind.
    """
    short = {kind.partition("/")[2] or kind: kind for kind in SEARCHED}
    known = short | {kind: kind for kind in SEARCHED}
    if unknown := set(names) - known.keys():
        raise ConfigError(f"there is no kind {min(unknown)!r}", hint=f"Kinds: {', '.join(short)}")
    return tuple(known[name] for name in names)
