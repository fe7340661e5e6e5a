"""Finds in the store the memories and turns that a voice command refers to. Read-only."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from slowcat_memory.core.commands.corrections import Said, Verdict, find_corrected
from slowcat_memory.core.commands.replies import quote
from slowcat_memory.core.disclosure import (
    Reader,
    disclose,
    disclose_all,
    disclose_found,
    is_listed,
    is_uncertain,
)
from slowcat_memory.core.language import Language
from slowcat_memory.core.memory import chunk, chunk_id, held_at
from slowcat_memory.core.text.normalize import asking, fingerprint
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Disclosed, LedgerEntry, Memory, Turn
from slowcat_memory.runtime.commands.undo_log import CommandContext, last_exchange
from slowcat_memory.store import Snapshot

RIGHT = "right"  # facet of the note of a correction: the user's words, without what is wrong

NEAR = 64  # log positions behind a turn where its other parts and copies are
LATELY = 2000  # log positions searched for a user's own statements
STATEMENT = range(4, 31)  # words of a turn worth reading out

Tokenize = Callable[[str], list[str]]


def question(exchange: Sequence[Turn]) -> Turn | None:
    """Return the user's last turn of an exchange; None when the agent spoke first."""
    return next((turn for turn in reversed(exchange) if turn.role == "user"), None)


def made_from(snapshot: Snapshot, scope: str, turns: Sequence[Turn]) -> list[str]:
    """Return the ids of turns' memories: their chunks, and what was derived from them."""
    ids = {turn.id for turn in turns}
    chunks = [chunk_id(turn.id) for turn in turns if not turn.aside]
    derived = [m.id for m in snapshot.memories(scope) if ids.intersection(m.sources)]
    return list(dict.fromkeys((*chunks, *derived)))


def others(
    snapshot: Snapshot, exchange: Sequence[int], is_guests: Callable[[str], bool]
) -> tuple[list[int], list[tuple[str, str]]]:
    """Find what an exchange left in the namespaces of its other speakers.

    It was logged together, so only the neighbours in the log are read.

    Args:
        exchange: Log ids of the turns, in one namespace.
        is_guests: Whether a scope is that of guests, whose words are turns alone.

    Returns:
        Log ids of the others' words and of the copies of the reply; (scope, id) of these turns'
        chunks, and of what was made from them.
    """
    known = [turn for id_ in exchange if (turn := snapshot.turn(id_))]
    wholes = {turn.part_of or turn.id for turn in known}
    if not known:
        return [], []
    near = snapshot.turns(after=min(wholes) - 1, upto=max(exchange) + NEAR)
    turns = [t for t in near if (t.part_of or t.id) in wholes and t.scope != known[0].scope]
    memories = [
        (scope, id_)
        for scope in dict.fromkeys(turn.scope for turn in turns if not is_guests(turn.scope))
        for id_ in made_from(snapshot, scope, [turn for turn in turns if turn.scope == scope])
    ]
    return [turn.id for turn in turns], memories


def mentioning(
    snapshot: Snapshot, scope: str, about: Callable[[str], bool], command: int = 0
) -> tuple[list[str], list[int]]:
    """Return everything that mentions a subject. Reads the whole log of the namespace.

    Args:
        command: Log id of the command's turn, which is excluded; 0 for none.

    Returns:
        Ids of memories that recall may find, and log ids of turns, earlier commands included.
    """
    derived = list(snapshot.memories(scope))
    retired = {memory.id for memory in derived if memory.retired_at}
    turns = [t for t in snapshot.turns(scope) if t.id != command and about(t.text)]
    ids = [chunk_id(turn.id) for turn in turns if not turn.aside]
    ids += [m.id for m in derived if about(m.text) or about(m.context)]
    return [id_ for id_ in dict.fromkeys(ids) if id_ not in retired], [t.id for t in turns]


def said_during(
    snapshot: Snapshot, scope: str, when: Sequence[Interval], command: int
) -> tuple[list[str], list[int]]:
    """Return what was said within any of several times, and what was made from it.

    Arguments and result as in ``mentioning``. Times that overlap narrow each other: "today between
    two and three".
    """
    start, end = when[0].start, when[0].end
    for interval in when[1:]:
        if interval.start < end and start < interval.end:
            start, end = max(start, interval.start), min(end, interval.end)
    turns = [t for t in snapshot.turns(scope) if t.id != command and start <= t.at < end]
    retired = {memory.id for memory in snapshot.memories(scope) if memory.retired_at}
    ids = made_from(snapshot, scope, turns)
    return [id_ for id_ in ids if id_ not in retired], [turn.id for turn in turns]


def why(snapshot: Snapshot, turn: int) -> tuple[LedgerEntry, dict[str, Memory]] | None:
    """Return the ledger row of a user's turn, and its memories that still exist, by id."""
    entry = snapshot.ledger(turn)
    if entry is None:
        return None
    elsewhere = {offer.memory: offer.scope for offer in entry.offers if offer.scope}
    read = ((id_, snapshot.read(elsewhere.get(id_, entry.scope), id_)) for id_ in entry.memories)
    return entry, {id_: memory for id_, memory in read if memory}


def offered(snapshot: Snapshot, turn: int) -> list[Memory]:
    """Return the memories that were put before the LLM for a user's turn, and still exist."""
    entry, known = why(snapshot, turn) or (None, {})
    return [known[row.memory] for row in (entry.offers if entry else ()) if row.memory in known]


def answer_of(exchange: Sequence[Turn]) -> str:
    """Return the agent's words in an exchange."""
    return " ".join(turn.text for turn in exchange if turn.role == "assistant")


def corrected(
    snapshot: Snapshot,
    context: CommandContext,
    right: str,
    language: Language,
    tokenize: Tokenize,
    reader: Reader,
) -> Disclosed | Verdict:
    """Return the memory that a correction is for, or why it is for none.

    It may be one that was put before the LLM for the last answer, that was read aloud by the last
    command, or the user's last statement.
    """
    read = _read_aloud(snapshot, context)
    if read is not None:
        dialogue, candidates = read
    else:
        exchange = last_exchange(snapshot, context.scope, context.session, context.turn)
        asked = question(exchange)
        answer = answer_of(exchange)
        if asked is None:
            return "own" if answer else "new"
        memories = offered(snapshot, asked.id)
        candidates = [m for m in memories if not m.retired_at and m.scope == context.scope]
        own = snapshot.read(context.scope, chunk_id(asked.id)) if not asking(asked.text) else None
        candidates += [own] if own and not own.retired_at else []
        dialogue = Said(asked.text, answer, is_statement=own in candidates)
    shown = [seen for m in candidates if (seen := disclose_found(m, reader, snapshot.memory))]
    verdict = find_corrected(right, dialogue, [memory.text for memory in shown], language, tokenize)
    return shown[verdict] if isinstance(verdict, int) else verdict


def _read_aloud(snapshot: Snapshot, context: CommandContext) -> tuple[Said, list[Memory]] | None:
    """Return a command's answer just before, and the memories that it quotes; None without."""
    answer = snapshot.turn(snapshot.turn_before(context.scope, context.session, context.turn))
    if answer is None or not answer.aside or answer.role != "assistant":
        return None
    spoken = fingerprint(answer.text)
    after = max(0, snapshot.last_id() - LATELY)
    chunks = (chunk(t) for t in snapshot.turns(context.scope, after=after) if not t.aside)
    every = [*snapshot.memories(context.scope), *chunks]
    current = {memory.id: memory for memory in reversed(every) if not memory.retired_at}
    quoted = [m for m in current.values() if (q := fingerprint(quote(m.text))) and q in spoken]
    return (Said("", answer.text), quoted) if quoted else None


def known_facts(snapshot: Snapshot, scope: str, reader: Reader, now: datetime) -> list[Disclosed]:
    """Return the facts, notes and pinned memories of a user that hold, and that a reader may see.

    Pinned ones first, then the most important; of equal importance the newest. Uncertain ones are
    left out, and of two with the same words the latter.
    """
    if scope not in reader.scopes:
        return []
    memories = map(_as_right, disclose_all(snapshot.memories(scope), reader))
    known = [m for m in memories if is_listed(m) and held_at(m, now) and not is_uncertain(m)]
    first: dict[str, Disclosed] = {}
    for memory in sorted(known, key=_order):
        first.setdefault(fingerprint(memory.text), memory)
    return list(first.values())


def own_statements(snapshot: Snapshot, scope: str, own: str, reader: Reader) -> list[Disclosed]:
    """Return a user's recent statements about themselves, the latest first.

    ``own`` is the pattern of words by which users refer to themselves. Nothing that ``reader`` must
    not see: the answer enters the LLM's context.
    """
    if scope not in reader.scopes:
        return []
    refers = re.compile(rf"\b(?:{own})\b", re.IGNORECASE)
    after = max(0, snapshot.last_id() - LATELY)
    turns = [
        turn
        for turn in snapshot.turns(scope, after=after)
        if turn.role == "user" and not turn.aside and _is_statement(turn.text, refers)
    ]
    chunks = (snapshot.memory(scope, chunk_id(turn.id)) or chunk(turn) for turn in reversed(turns))
    statements = (disclose(memory, reader) for memory in chunks if not memory.retired_at)
    return [memory for memory in statements if memory]


def _as_right(memory: Disclosed) -> Disclosed:
    """Return the note of a correction with what is right alone: it quotes what is wrong."""
    right = memory.facets.get(RIGHT, "")
    return replace(memory, text=right) if right else memory


IMPORTANCE_STEPS = 5  # between 0 and 1; within a step the newest comes first


def _order(memory: Memory) -> tuple[bool, int, float]:
    step = int(memory.importance * IMPORTANCE_STEPS)
    return not memory.pinned, -step, -memory.valid_from.timestamp()


def _is_statement(text: str, refers: re.Pattern[str]) -> bool:
    return len(text.split()) in STATEMENT and "?" not in text and bool(refers.search(text))
