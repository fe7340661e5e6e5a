"""Jobs that judge recalled memories, by a user's reaction to the reply and by an LLM.

Queries recur in other words: each judgement is kept as a key of the memory, with the query's
text, and changes its score for similar queries (``core.ranking.score``).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from msgspec import Struct

from slowcat_memory.core.disclosure import is_withheld
from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.data import lazy_pattern
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.language.table import ReactionWords
from slowcat_memory.core.memory import chunk_id, findable, turn_of
from slowcat_memory.core.query.understand import without_names
from slowcat_memory.core.ranking import grades as grading
from slowcat_memory.core.ranking.grades import MOST, VERSION, Grades
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger, names_of, new_task
from slowcat_memory.idle.jobs.options import JudgementOptions
from slowcat_memory.providers import Prompt
from slowcat_memory.records import (
    Cursor,
    Key,
    LedgerEntry,
    Made,
    Memory,
    Task,
    Turn,
    Vector,
    WriteBatch,
)
from slowcat_memory.store import Snapshot

Verdict = Literal["wrong", "right"]
MOST_REACTION_WORDS = 40  # of an utterance; longer ones have other subjects as well
MOST_RIGHT = 6  # words of a confirmation
_WORD = lazy_pattern(r"[^\W_]+(?:'[^\W_]+)*")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'"})


class Reaction(Struct, frozen=True):
    """A correction ("wrong") or confirmation ("right") of a reply.

    ``instead`` is the correction, in lower case without punctuation, or "".
    """

    verdict: Verdict
    instead: str = ""


def _compiled(table: ReactionWords) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a correction, and of a confirmation."""
    lead, no = f"(?:(?:{table.lead}) )*", f"(?:(?:{table.no}) )+"
    wrong, denied = "|".join(table.wrong), "|".join(table.denied)
    return (
        lazy_pattern(f"{lead}(?:(?:{no}{lead})?(?:{wrong})|{no}{lead}(?:{denied}))(?: (?P<x>.+))?"),
        lazy_pattern(f"{lead}(?:{'|'.join(table.right)})(?: (?:{_THANKS}))?"),
    )


_THANKS = "|".join(one.reactions.thanks for one in LANGUAGES)
TABLES = tuple(_compiled(one.reactions) for one in LANGUAGES)


def reaction(text: str) -> Reaction | None:
    """Return the reaction in an utterance to the previous reply, or None.

    The tables of all languages are tried: none of them matches words of another language.
    """
    if text.rstrip(" \"'”“»«").endswith("?"):
        return None
    words = _WORD.findall(text.translate(_QUOTES).lower())
    if not words or len(words) > MOST_REACTION_WORDS:
        return None
    line = " ".join(words)
    for wrong, right in TABLES:
        if found := wrong.fullmatch(line):
            return Reaction("wrong", found["x"] or "")
        if len(words) <= MOST_RIGHT and right.fullmatch(line):
            return Reaction("right")
    return None


JUDGED_QUERY = "asked"  # kind of the keys
LOOKED_AT = 500  # turns that a plan reads at once: milliseconds
REACTION_WORDS = 12  # "no, I meant the one we booked" is understood only with what came before
# Memories rejected for a reason unrelated to the query.
NOT_JUDGED = frozenset(("heard", "duplicate", "over", "gone"))


class TurnsJob:
    """Base of the jobs that judge turn by turn, in the order of the log; see ``Job``."""

    name: str
    Options: type[Struct]

    def begin(self, snapshot: Snapshot) -> int:
        """Return the log id behind which the job begins in a store that it never read."""
        return 0

    def task(self, snapshot: Snapshot, turn: Turn, now: datetime) -> Task | None:
        """Return the task for a turn, if there is anything to judge."""
        raise NotImplementedError

    def plan(self, context: JobContext) -> Plan | None:
        """Plan the tasks of the turns behind the cursor."""
        scopes = frozenset(context.scopes())
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            after = cursor.position if cursor else self.begin(snapshot)
            turns = list(islice(snapshot.turns(after=after), LOOKED_AT))
            own = (turn for turn in turns if turn.scope in scopes and is_query(turn))
            tasks = [task for turn in own if (task := self.task(snapshot, turn, context.now))]
        if not turns:
            return None
        return Plan(tasks=tuple(tasks), cursor=Cursor(name=self.name, position=turns[-1].id))


def is_query(turn: Turn) -> bool:
    """Return whether a turn is a user's, and no voice command."""
    return turn.role == "user" and not turn.aside and bool(turn.text)


def judgeable(snapshot: Snapshot, scope: str, id_: str) -> Memory | None:
    """Return a memory that may be judged.

    None if it is gone, retired, never searched for, an aside, or local-only: it is not known here
    where the LLM runs.
    """
    memory = snapshot.read(scope, id_)
    if memory is None or memory.retired_at or is_withheld(memory) or not findable(memory):
        return None
    turn = snapshot.turn(turn_of(id_))
    return None if turn is not None and turn.aside else memory


def candidates(snapshot: Snapshot, entry: LedgerEntry) -> Iterator[tuple[Memory, bool]]:
    """Yield the judgeable memories ranked for a turn, and whether each was put into the prompt.

    Offered ones come first. Memories of shared namespaces are excluded: a key keeps one person's
    words.
    """
    own = [(offer.memory, True) for offer in entry.offers if offer.scope in ("", entry.scope)]
    rest = [(one.memory, False) for one in entry.left_out if one.reason not in NOT_JUDGED]
    for id_, offered in own + rest:
        memory = judgeable(snapshot, entry.scope, id_)
        if memory is not None and entry.turn not in memory.sources:
            yield memory, offered


def is_private(snapshot: Snapshot, turn: Turn) -> bool:
    """Return whether a turn's own words are hidden or local-only."""
    return judgeable(snapshot, turn.scope, chunk_id(turn.id)) is None


def before_reaction(snapshot: Snapshot, turn: Turn) -> Turn | None:
    """Return the turn before a short one, or a reaction, of its session.

    None for any other turn, which is judged by its own words, and if the turn before is private.
    """
    if len(turn.text.split()) > REACTION_WORDS and reaction(turn.text) is None:
        return None
    id_ = snapshot.turn_before(turn.scope, turn.session, turn.id)
    before = snapshot.turn(id_) if id_ else None
    return None if before is None or before.aside or is_private(snapshot, before) else before


async def judgements(
    turn: Turn,
    judged: Mapping[str, float],
    speakers: Iterable[str],
    sources: tuple[int, ...],
    made: Made,
    kept: int,
    context: JobContext,
) -> WriteBatch:
    """Return the keys that keep a query's judgements, their vectors, and the keys they displace.

    Args:
        judged: Judgement by memory id, -1 to 1; 0 carries no information.
        speakers: Speakers of the memories: their names are no part of a query's vector.
        sources: Log ids of the turns that the judgement was made from.
    """
    weights = {id_: weight for id_, weight in judged.items() if weight}
    if not weights:
        return WriteBatch()
    embedded = await context.embed([without_names(turn.text, speakers)])
    keys = tuple(
        Key(
            scope=turn.scope,
            memory=id_,
            id=f"{id_}?a{turn.id}",
            kind=JUDGED_QUERY,
            text=turn.text,
            weight=weight,
            sources=sources,
            made=made,
        )
        for id_, weight in weights.items()
    )
    with context.snapshot() as snapshot:
        drop = tuple(one for key in keys for one in _displaced(snapshot, key, kept))
    gone = {id_ for _, id_ in drop}
    keys = tuple(key for key in keys if key.id not in gone)
    vectors = tuple(
        Vector(scope=key.scope, memory=key.id, values=values)
        for values in embedded.vectors[:1]
        for key in keys
    )
    return WriteBatch(keys=keys, drop_keys=drop, vectors=vectors, embedder=context.space)


def _displaced(snapshot: Snapshot, key: Key, kept: int) -> Iterator[tuple[str, str]]:
    """Yield (scope, id) of a memory's judgements that exceed ``kept`` with a new one."""
    there = [one for one in snapshot.keys(key.scope, key.memory) if one.kind == JUDGED_QUERY]
    every = [*(one for one in there if one.id != key.id), key]
    weakest_first = sorted(every, key=lambda one: (abs(one.weight), max(one.sources, default=0)))
    for one in weakest_first[: max(0, len(every) - kept)]:
        yield one.scope, one.id


SETTLED = timedelta(minutes=10)  # by then a correction has been answered, or corrected again
MISSES, MEANT, LATER, CONFIRMED = -0.5, 0.5, 0.5, 0.25  # weight of a judgement
USED_WORDS = 2  # shared by a memory and a reply, and not in the query: the reply used the memory


class Corrections(TurnsJob):
    """A user's reaction to a reply judges the memories recalled for it. No LLM.

    "No, I meant the dentist in Porto": the offered memories did not answer, except those with the
    missing words; memories offered for the correction answer the first query, unless that reply is
    corrected in turn. "Yes, exactly": the memories that the reply used answer. Reactions are
    recognised by rule, precision first: only the beginning of an utterance is matched, literally:
    "no idea" and "no, thanks" are none.
    """

    name = "corrections"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(turns=10, session_end=True)
    Options: type[Struct] = JudgementOptions

    def task(self, snapshot: Snapshot, turn: Turn, now: datetime) -> Task | None:
        asked = query_before(snapshot, turn) if reaction(turn.text) else None
        if asked is None:
            return None
        sources, settled = (asked[0].id, turn.id), turn.at + SETTLED
        return new_task(
            self.name, turn.scope, str(turn.id), now, 30, sources=sources, not_before=settled
        )

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: JudgementOptions = context.options
        with context.snapshot() as snapshot:
            turn = snapshot.turn(int(task.key))
            found = reaction(turn.text) if turn else None
            asked = query_before(snapshot, turn) if turn else None
            if turn is None or found is None or asked is None:
                return WriteBatch()
            query, reply = asked
            if is_private(snapshot, query):
                return WriteBatch()
            offered = offers(snapshot, query)
            if found.verdict == "right":
                judged = confirmed(offered, query, reply)
            else:
                judged = corrected(offered, query, found)
                if not corrected_again(snapshot, turn):
                    later = {
                        m.id: LATER for m in offers(snapshot, turn) if query.id not in m.sources
                    }
                    judged = later | judged
        made = Made(job=self.name, version=self.version)
        speakers = {memory.speaker for memory in offered} | {query.speaker}
        return await judgements(
            query, judged, speakers, (query.id, turn.id), made, options.kept, context
        )


def query_before(snapshot: Snapshot, turn: Turn) -> tuple[Turn, Turn] | None:
    """Return the query and the reply that a reaction refers to; None if no reply precedes it."""
    reply = snapshot.turn(snapshot.turn_before(turn.scope, turn.session, turn.id))
    if reply is None or reply.role != "assistant" or reply.aside or not reply.reply_to:
        return None
    query = snapshot.turn(reply.reply_to)
    if query is None or query.scope != turn.scope or not is_query(query):
        return None
    return query, reply


def offers(snapshot: Snapshot, turn: Turn) -> list[Memory]:
    """Return the judgeable memories put into the prompt for a turn."""
    entry = snapshot.ledger(turn.id)
    return [memory for memory, offered in candidates(snapshot, entry) if offered] if entry else []


def corrected(offered: Iterable[Memory], query: Turn, found: Reaction) -> dict[str, float]:
    """Return judgements, by id, of memories offered for a query that was answered wrongly."""
    missing = words(found.instead) - words(query.text)
    return {m.id: MEANT if missing & words(m.text) else MISSES for m in offered}


def confirmed(offered: Iterable[Memory], query: Turn, reply: Turn) -> dict[str, float]:
    """Return judgements, by id, of the offered memories that a correct reply used."""
    new = words(reply.text) - words(query.text)
    return {m.id: CONFIRMED for m in offered if len(new & words(m.text)) >= USED_WORDS}


def corrected_again(snapshot: Snapshot, turn: Turn) -> bool:
    session = snapshot.session(turn.session)
    upto = session.last_turn if session else turn.id
    later = snapshot.turns(turn.scope, after=turn.id, upto=upto)
    after = (t for t in later if t.session == turn.session)
    following = next((t for t in after if t.role == "user"), None)
    found = reaction(following.text) if following else None
    return found is not None and found.verdict == "wrong"


def words(text: str) -> set[str]:
    return set(fingerprint(text).split()) - EMPTY


RANK = 60
NEWEST = 2000  # log entries back, judging starts in a store that was never judged


class Rerank(TurnsJob):
    """An LLM judges which of the memories ranked for a query answer it: of a question, or of a few words.

    A memory that was offered and does not answer is a hard negative; for one that was rejected,
    this is no new information.
    """

    name = "rerank"
    version = VERSION
    needs: Needs = "llm"
    trigger = Trigger(turns=20, session_end=True)
    Options: type[Struct] = JudgementOptions

    def begin(self, snapshot: Snapshot) -> int:
        return max(0, snapshot.last_id() - NEWEST)

    def task(self, snapshot: Snapshot, turn: Turn, now: datetime) -> Task | None:
        short = len(turn.text.split()) <= REACTION_WORDS  # no memory answers a long statement
        asks = short or "?" in turn.text or reaction(turn.text) is not None
        entry = snapshot.ledger(turn.id) if asks else None
        if entry is None or len(entry.told) < 2:
            return None
        return new_task(self.name, turn.scope, str(turn.id), now, RANK, sources=(turn.id,))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: JudgementOptions = context.options
        with context.snapshot() as snapshot:
            turn, entry = snapshot.turn(int(task.key)), snapshot.ledger(int(task.key))
            if turn is None or entry is None or is_private(snapshot, turn):
                return WriteBatch()
            most = max(2, MOST >> task.attempts)  # fewer after an answer that cannot be used
            memories = list(candidates(snapshot, entry))[:most]
            before = before_reaction(snapshot, turn)
        llm = context.llm
        if len(memories) < 2 or llm is None:
            return WriteBatch()
        user, lines = grading.build_prompt(
            turn, before, [memory for memory, _ in memories], llm.prompt_tokens
        )
        earlier = (before.id,) if before else ()
        prompt = Prompt(
            job=self.name,
            version=self.version,
            system=grading.SYSTEM,
            user=user,
            made_from=names_of(
                turn.scope, (turn.id, *earlier), (memory.id for memory, _ in memories)
            ),
            max_tokens=grading.ANSWER_TOKENS,
            temperature=0.0,
        )
        answer = await llm.complete(prompt, Grades)
        grades = grading.grades_of(answer.value, lines)
        judged = {
            memory.id: grading.judgement(grades[n], offered)
            for n, (memory, offered) in enumerate(memories[:lines], 1)
            if n in grades
        }
        if len(set(grades.values())) < 2:
            judged = {}  # one grade for all carries no information
        made = Made(job=self.name, version=self.version, model=answer.model)
        speakers = [memory.speaker for memory, _ in memories]
        return await judgements(
            turn, judged, speakers, (turn.id, *earlier), made, options.kept, context
        )
