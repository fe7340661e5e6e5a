"""Why did you say that? One turn: what was offered, what was left out and why, and the block."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory.core.disclosure import disclose
from slowcat_memory.engine.search import why
from slowcat_memory.records import Hit, LedgerEntry, Memory, Turn
from slowcat_memory.runtime.recall.query import Recollection, asked_text
from slowcat_memory.store import Snapshot
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, Refusal, number
from slowcat_memory.web.shapes import memory_row, time_of, turn_row

TRIES = 4  # pages of other people's entries that are passed over for one


def recalls(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of turns for which memories were looked up, the latest first.

    Parameters: ``before`` (a turn's number).
    """
    scope, before = page.scope(given), number(given, "before")
    rows: list[dict[str, Any]] = []
    with page.memory.snapshot() as snapshot:
        for _ in range(TRIES):
            wanted = PAGE - len(rows)
            entries = snapshot.ledger_tail(wanted, before)
            rows += [_recall(page, snapshot, one) for one in entries if one.scope == scope]
            before = entries[-1].turn if len(entries) == wanted else 0
            if not before or len(rows) == PAGE:
                break
    return {"rows": rows, "before": before}


def _recall(page: PageContext, snapshot: Snapshot, entry: LedgerEntry) -> dict[str, Any]:
    turn = snapshot.turn(entry.turn)
    return {
        "turn": entry.turn,
        "at": time_of(entry.at),
        "words": turn.text[:160] if turn else "",
        "speaker": page.name(turn.scope, turn.speaker) if turn else "",
        "stage": entry.stage or "none",
        "offered": len(entry.offers),
        "ms": round(sum(entry.timings.values()), 2),
    }


def one(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what recall did for one turn.

    Parameters: ``turn`` (its number).
    """
    scope, number_ = page.scope(given), number(given, "turn")
    with page.memory.snapshot() as snapshot:
        found, turn = why(snapshot, number_), snapshot.turn(number_)
        if found is None or found[0].scope != scope:
            raise Refusal(404, "Nothing was looked up for this turn, or it is too long ago.")
        entry, memories = found
        config = page.memory.config
        asked = ""
        if turn is not None:
            asked = asked_text(snapshot, turn, config.ask, config.gate, config.memory.language)
        reply = _reply(snapshot, turn)
    offers = [_weighed(page, memories.get(o.memory), o, "offered") for o in entry.offers]
    left = [_weighed(page, memories.get(o.memory), o, o.reason) for o in entry.left_out]
    visible = [_weighed(page, memories.get(id_), None, "visible") for id_ in entry.visible]
    return {
        "turn": turn_row(page, turn) if turn else None,
        "reply": turn_row(page, reply) if reply else None,
        "at": time_of(entry.at),
        "asked": asked,
        "stage": entry.stage or "none",
        "candidates": entry.candidates,
        "tokens": entry.tokens,
        "timings": entry.timings,
        "rows": [*offers, *left, *visible],
        "block": _block(page, entry, memories),
    }


def _reply(snapshot: Snapshot, turn: Turn | None) -> Turn | None:
    """Return the agent's reply, which is among the few turns after the user's."""
    if turn is None:
        return None
    near = snapshot.turns(turn.scope, turn.id, turn.id + 8)
    agent = (one for one in near if one.role == "assistant" and one.session == turn.session)
    return next((one for one in agent if one.reply_to in (0, turn.id)), None)


def _weighed(page: PageContext, memory: Memory | None, one: Any, verdict: str) -> dict[str, Any]:
    shown = memory if memory and (page.everyone or memory.scope == page.person) else None
    return {
        "id": shown.id if shown else "",
        "memory": memory_row(page, shown) if shown else None,
        "verdict": verdict,
        "score": round(one.score, 3) if one else None,
        "likely": round(one.probability, 3) if one else None,
        "views": {name: round(value, 3) for name, value in one.views.items()} if one else {},
    }


def _block(page: PageContext, entry: LedgerEntry, memories: Mapping[str, Memory]) -> str:
    """Return the block of what was offered, written anew from what is still remembered."""
    scopes = {offer.scope or entry.scope for offer in entry.offers}
    if not page.everyone:
        scopes &= {page.person}
    reader = page.memory.reader(*scopes, local=True)
    hits = []
    for offer in entry.offers:
        memory = memories.get(offer.memory)
        if memory is not None and (shown := disclose(memory, reader)) is not None:
            hits.append(Hit(memory=shown, score=offer.score, probability=offer.probability))
    return page.memory.pack(Recollection(hits=hits, stage="full"), entry.at).text if hits else ""
