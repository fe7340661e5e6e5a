"""What people say about a reply, taken as a judgement of what was recalled for it. No LLM.

"No, I meant the dentist in Porto": what had been offered did not answer, but for what holds the words
that were missing; and what was offered for the correction answers the first question, unless that is
corrected in turn. "Yes, exactly": what the reply was made of answers. See ``core.reaction``.
"""

from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

from slowcat_memory.core.feedback.reaction import Reaction, reaction
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.core.text.word_lists import EMPTY
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.idle.jobs.feedback import shared
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Snapshot

SETTLED = timedelta(minutes=10)  # by then a correction has been answered, or corrected again
MISSES, MEANT, LATER, CONFIRMED = -0.5, 0.5, 0.5, 0.25  # what is judged by whom
USED = 2  # words of a memory, not of the question, that a reply made of it holds


class CorrectionsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether what people say about a reply counts.

    Attributes:
        enabled: Learn from "no, I said …", and from "yes, exactly".
        kept: Judgements that are kept of a memory; the weakest and oldest go.
    """

    enabled: bool = True
    kept: int = 8


class Corrections:
    """Judges queries by what people said next; see the module."""

    name = "corrections"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(turns=10, session_end=True)
    Options: type[Struct] = CorrectionsOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Find the reactions behind the cursor; see ``Job``."""
        options: CorrectionsOptions = context.options
        if not options.enabled:
            return None
        scopes = frozenset(context.scopes())
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            after = cursor.position if cursor else 0
            turns, upto = shared.said_since(snapshot, after)
            tasks = []
            for turn in turns:
                if turn.scope not in scopes or not shared.is_query(turn) or not reaction(turn.text):
                    continue
                if asked := asked_before(snapshot, turn):
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
        """Judge what was offered before one reaction; see ``Job``."""
        options: CorrectionsOptions = context.options
        with context.snapshot() as snapshot:
            turn = snapshot.turn(int(task.key))
            found = reaction(turn.text) if turn else None
            asked = asked_before(snapshot, turn) if turn else None
            if turn is None or found is None or asked is None:
                return WriteBatch()
            query, reply = asked
            if shared.private(snapshot, query):
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
        return await shared.keep(
            query, judged, speakers, (query.id, turn.id), made, options.kept, context
        )


def asked_before(snapshot: Snapshot, turn: Turn) -> tuple[Turn, Turn] | None:
    """Find the query and the reply that a reaction is about.

    Args:
        snapshot: The store.
        turn: The reaction.

    Returns:
        Both; None when the turn before it is no reply to somebody's query.
    """
    reply = snapshot.turn(snapshot.turn_before(turn.scope, turn.session, turn.id))
    if reply is None or reply.role != "assistant" or reply.aside or not reply.reply_to:
        return None
    query = snapshot.turn(reply.reply_to)
    if query is None or query.scope != turn.scope or not shared.is_query(query):
        return None
    return query, reply


def offers(snapshot: Snapshot, turn: Turn) -> list[Memory]:
    """Read what was put before the LLM for a turn, and can be judged."""
    entry = snapshot.ledger(turn.id)
    return [memory for memory, offered in shared.told(snapshot, entry) if offered] if entry else []


def corrected(offered: Iterable[Memory], query: Turn, found: Reaction) -> dict[str, float]:
    """Judge what was offered for a query that got a wrong answer.

    Args:
        offered: What was offered.
        query: The query.
        found: The correction.

    Returns:
        Judgements by id.
    """
    missing = words(found.instead) - words(query.text)
    return {m.id: MEANT if missing & words(m.text) else MISSES for m in offered}


def confirmed(offered: Iterable[Memory], query: Turn, reply: Turn) -> dict[str, float]:
    """Judge what was offered for a query that got a right answer: what the reply was made of.

    Args:
        offered: What was offered.
        query: The query.
        reply: The reply.

    Returns:
        Judgements by id.
    """
    new = words(reply.text) - words(query.text)
    return {m.id: CONFIRMED for m in offered if len(new & words(m.text)) >= USED}


def corrected_again(snapshot: Snapshot, turn: Turn) -> bool:
    """Tell whether what was said to a correction was corrected, too."""
    after = (t for t in snapshot.turns(turn.scope, after=turn.id) if t.session == turn.session)
    following = next((t for t in after if t.role == "user"), None)
    found = reaction(following.text) if following else None
    return found is not None and found.verdict == "wrong"


def words(text: str) -> set[str]:
    """List a text's words that say something."""
    return set(fingerprint(text).split()) - EMPTY
