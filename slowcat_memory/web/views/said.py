"""Views of conversations, of the recall of a turn, and of the facts that held on a day."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

from slowcat_memory.core.disclosure import disclose
from slowcat_memory.core.memory import chunk_id, is_believed
from slowcat_memory.core.render.memory_block import mark_of
from slowcat_memory.records import Hit, LedgerEntry, Memory, Turn
from slowcat_memory.runtime.commands.targets import why
from slowcat_memory.runtime.conversation.audience import guest_scope
from slowcat_memory.runtime.recall.query import Recollection, asked_text
from slowcat_memory.store import Snapshot
from slowcat_memory.web.catalogue import cursor_of, is_fact, newest, place_of, stored
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, Refusal, moment, number
from slowcat_memory.web.shapes import memory_row, relation_words, session_row, time_of, turn_row

WEEKS = 260  # that a picture goes back
LOOK = 4 * PAGE  # entries, of everybody's, that are read for a page of one person's


def conversations(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of conversations, those that were spoken last first.

    Parameters: ``after`` (a cursor).
    """
    scope, after = page.scope(given), given.get("after", "")
    with page.memory.snapshot() as snapshot:
        talks = page.talks(scope, snapshot)
        talks = [talk for talk in talks if not after or (talk.last, talk.id) < place_of(after)]
        shown = talks[:PAGE]
        rows = [session_row(talk, snapshot.turn(talk.first_turn)) for talk in shown]
    more = len(talks) > PAGE
    return {"rows": rows, "after": cursor_of(shown[-1].last, shown[-1].id) if more else ""}


def turns(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of a conversation's turns, the earliest first.

    Parameters: ``session``; ``after`` (a turn's number), or ``at`` (a turn to begin shortly before).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        session = snapshot.session(given.get("session", ""))
        if session is None or session.scope != scope:
            raise Refusal(404, "That conversation is not remembered any more.")
        after = max(number(given, "after"), number(given, "at", 6) - 6, session.first_turn - 1)
        later = snapshot.turns(scope, after, session.last_turn)
        own = list(islice((turn for turn in later if turn.session == session.id), PAGE + 1))
        shown = [(turn, snapshot.memory(scope, chunk_id(turn.id))) for turn in own[:PAGE]]
        return {
            "rows": [turn_row(page, turn, memory) for turn, memory in shown],
            "after": own[PAGE - 1].id if len(own) > PAGE else 0,
            "session": session_row(session, snapshot.turn(session.first_turn)),
        }


def search(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return the memories that answer a question best, and by what each was found.

    Parameters: ``q``.
    """
    scope, words = page.scope(given), given.get("q", "").strip()[:400]
    if not words or scope == guest_scope(page.memory.config.people):
        return {"rows": []}
    recall = page.memory.search(words, scope, PAGE, local=True)
    with page.memory.snapshot() as snapshot:
        rows = []
        for hit in recall.hits:
            turn = snapshot.turn(hit.memory.sources[0]) if hit.memory.sources else None
            rows.append(
                {
                    **memory_row(page, hit.memory),
                    "over": mark_of(hit.memory, page.memory.clock(), page.memory.zone),
                    "likely": round(hit.probability, 3),
                    "views": {name: round(value, 3) for name, value in hit.views.items()},
                    "session": turn.session if turn else "",
                }
            )
    return {"rows": rows}


def as_of(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of what was true at a moment, the newest first; what was over by then is marked.

    Parameters: ``at`` (a time; now by default), ``what`` (facts or people), ``believed`` (1: by what
    was known then), ``over`` (1: also what was over by then), ``after`` (a cursor).
    """
    scope, at = page.scope(given), moment(given, "at") or page.memory.clock()
    people, believed = given.get("what") == "people", bool(given.get("believed"))
    over, after_ = bool(given.get("over")), given.get("after", "")

    def held(memory: Memory) -> bool:
        end = memory.valid_to or memory.retired_at
        true = memory.valid_from <= at and (end is None or end > at)  # by what is known now
        return true and (not believed or is_believed(memory, at))

    def wanted(memory: Memory) -> bool:
        unknown = believed and (memory.recorded_at or memory.valid_from) > at
        if not is_fact(memory) or (people and not memory.statement.subject_id) or unknown:
            return False
        return over or held(memory)

    with page.memory.snapshot() as snapshot:
        with page.catalogue(scope, snapshot) as catalogue:
            known = catalogue.in_order()
        memories, after = newest(known, wanted, PAGE, after_, at)
        rows = [
            _row(page, snapshot, memory, people) | {"held": held(memory)}
            for memory in stored(snapshot, scope, memories)
        ]
        facts = [fact for fact in known if is_fact(fact)]
        began = [fact.valid_from for fact in facts if fact.valid_from.year > 1]
        ended = [end for fact in facts if (end := fact.valid_to or fact.retired_at)]
        moments = [[talk.started for talk in page.talks(scope, snapshot)], began, ended]
    return {
        "rows": rows,
        "after": after,
        "first": time_of(min(began, default=None)),
        "last": time_of(max(*began, page.memory.clock())) if began else None,
        "weeks": _weeks(page, moments) if not given.get("at") and not after_ else None,
    }


def _weeks(page: PageContext, moments: Sequence[Sequence[datetime]]) -> list[list[Any]]:
    """Return week by week how many there are of several kinds of moments."""
    now = page.memory.clock()
    counts: dict[date, list[int]] = defaultdict(lambda: [0] * len(moments))
    for place, every in enumerate(moments):
        for at in (at for at in every if at <= now):
            day = at.astimezone(page.memory.zone).date()
            counts[day - timedelta(days=day.weekday())][place] += 1
    if not counts:
        return []
    last = max(counts)
    week, rows = max(min(counts), last - timedelta(weeks=WEEKS)), list[list[Any]]()
    while week <= last:
        rows.append([f"{week}T12:00Z", *counts[week]])
        week += timedelta(weeks=1)
    return rows


def _row(page: PageContext, snapshot: Snapshot, memory: Memory, people: bool) -> dict[str, Any]:
    """Return a fact and what took its place; of people as a relation in words."""
    new = snapshot.memory(memory.scope, memory.facets.get("superseded_by", "") or "-")
    row = memory_row(page, memory) | {"replacement": memory_row(page, new)["text"] if new else ""}
    if people:
        row |= relation_words(page, memory, snapshot)
    return row


def recalls(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of turns for which memories were looked up, the latest first.

    Parameters: ``before`` (a turn's number).
    """
    scope, before = page.scope(given), number(given, "before")
    with page.memory.snapshot() as snapshot:
        entries = snapshot.ledger_tail(LOOK, before)
        shown = [entry for entry in entries if entry.scope == scope][:PAGE]
        rows = [_recall(page, snapshot, entry) for entry in shown]
    last = shown if len(shown) == PAGE else entries if len(entries) == LOOK else []
    return {"rows": rows, "before": last[-1].turn if last else 0}


def _recall(page: PageContext, snapshot: Snapshot, entry: LedgerEntry) -> dict[str, Any]:
    turn = snapshot.turn(entry.turn)
    return {
        "turn": entry.turn,
        "at": time_of(entry.at),
        "words": turn.text[:160] if turn else "",
        "offered": len(entry.offers),
        "ms": round(sum(entry.timings.values()), 2),
    }


def one(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what recall did for one turn.

    Parameters: ``turn`` (its number).
    """
    scope, number_ = page.scope(given), number(given, "turn")
    with page.memory.snapshot() as snapshot:
        recall, turn = why(snapshot, number_), snapshot.turn(number_)
        if recall is None or recall[0].scope != scope:
            raise Refusal(404, "Nothing was looked up for this turn, or it is too long ago.")
        entry, memories = recall
        config = page.memory.config
        asked = ""
        if turn is not None:
            asked = asked_text(snapshot, turn, config.ask, config.gate, config.memory.language)
        reply = _reply(snapshot, turn)
    offers = [_weighed(page, memories.get(o.memory), o, "offered") for o in entry.offers]
    rejected = [_weighed(page, memories.get(o.memory), o, o.reason) for o in entry.left_out]
    visible = [_weighed(page, memories.get(id_), None, "visible") for id_ in entry.visible]
    return {
        "turn": turn_row(page, turn) if turn else None,
        "reply": turn_row(page, reply) if reply else None,
        "at": time_of(entry.at),
        "asked": asked,
        "stage": entry.stage or "none",
        **{name: getattr(entry, name) for name in ("candidates", "tokens", "timings")},
        "rows": [*offers, *rejected, *visible],
        "block": _block(page, entry, memories),
    }


def _reply(snapshot: Snapshot, turn: Turn | None) -> Turn | None:
    """Return the agent's reply, which is among the few turns after the user's."""
    if turn is None:
        return None
    near = snapshot.turns(turn.scope, turn.id, turn.id + 8)
    agent = (reply for reply in near if reply.role == "assistant" and reply.session == turn.session)
    return next((reply for reply in agent if reply.reply_to in (0, turn.id)), None)


def _weighed(page: PageContext, memory: Memory | None, offer: Any, verdict: str) -> dict[str, Any]:
    shown = memory if memory and page.shows(memory.scope) else None
    return {
        "id": shown.id if shown else "",
        "memory": memory_row(page, shown) if shown else None,
        "verdict": verdict,
        "likely": round(offer.probability, 3) if offer else None,
    }


def _block(page: PageContext, entry: LedgerEntry, memories: Mapping[str, Memory]) -> str:
    """Return the block of what was offered, written anew from what is still remembered."""
    scopes = {offer.scope or entry.scope for offer in entry.offers}
    if not page.everyone:
        scopes &= {page.person}
    reader = page.memory.reader(*scopes, local=True)
    hits = [
        Hit(memory=shown, score=offer.score, probability=offer.probability)
        for offer in entry.offers
        if (memory := memories.get(offer.memory)) and (shown := disclose(memory, reader))
    ]
    return page.memory.blocks.pack(Recollection(hits=hits, stage="full"), entry.at).text
