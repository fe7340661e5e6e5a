"""A user's reaction to a reply judges the memories recalled for it. No LLM.

"No, I meant the dentist in Porto": the offered memories did not answer, except those with the
missing words; memories offered for the correction answer the first query, unless that reply is
corrected in turn. "Yes, exactly": the memories that the reply used answer. See
``core.commands.reaction``.
"""

from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

from slowcat_memory.core.commands.reaction import Reaction, reaction
from slowcat_memory.core.language.english.vocabulary import EMPTY
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.feedback import shared
from slowcat_memory.idle.jobs.options import CorrectionsOptions
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

SETTLED = timedelta(minutes=10)  # by then a correction has been answered, or corrected again
MISSES, MEANT, LATER, CONFIRMED = -0.5, 0.5, 0.5, 0.25  # weight of a judgement
USED_WORDS = 2  # shared by a memory and a reply, and not in the query: the reply used the memory


class Corrections:
    """The job; see ``Job``."""

    name = "corrections"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(turns=10, session_end=True)
    Options: type[Struct] = CorrectionsOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each reaction behind the cursor."""
        scopes = frozenset(context.scopes())
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            after = cursor.position if cursor else 0
            turns, upto = shared.turns_since(snapshot, after)
            tasks = []
            for turn in turns:
                if turn.scope not in scopes or not shared.is_query(turn) or not reaction(turn.text):
                    continue
                if asked := query_before(snapshot, turn):
                    tasks.append(self._task(turn, asked[0], context))
        if upto == after:
            return None
        return Plan(tasks=tuple(tasks), cursor=Cursor(name=self.name, position=upto))

    def _task(self, turn: Turn, query: Turn, context: JobContext) -> Task:
        return Task(
            id=f"{self.name}/{turn.scope}/{turn.id}",
            job=self.name,
            key=str(turn.id),
            created=context.now,
            scope=turn.scope,
            rank=30,
            sources=(query.id, turn.id),
            not_before=turn.at + SETTLED,
        )

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        options: CorrectionsOptions = context.options
        with context.snapshot() as snapshot:
            turn = snapshot.turn(int(task.key))
            found = reaction(turn.text) if turn else None
            asked = query_before(snapshot, turn) if turn else None
            if turn is None or found is None or asked is None:
                return WriteBatch()
            query, reply = asked
            if shared.is_private(snapshot, query):
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
        return await shared.judgements(
            query, judged, speakers, (query.id, turn.id), made, options.kept, context
        )


def query_before(snapshot: Snapshot, turn: Turn) -> tuple[Turn, Turn] | None:
    """Return the query and the reply that a reaction refers to; None if no reply precedes it."""
    reply = snapshot.turn(snapshot.turn_before(turn.scope, turn.session, turn.id))
    if reply is None or reply.role != "assistant" or reply.aside or not reply.reply_to:
        return None
    query = snapshot.turn(reply.reply_to)
    if query is None or query.scope != turn.scope or not shared.is_query(query):
        return None
    return query, reply


def offers(snapshot: Snapshot, turn: Turn) -> list[Memory]:
    """Return the judgeable memories put into the prompt for a turn."""
    entry = snapshot.ledger(turn.id)
    return (
        [memory for memory, offered in shared.candidates(snapshot, entry) if offered]
        if entry
        else []
    )


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
