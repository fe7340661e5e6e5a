"""The views: functions that read what the page shows, by the question that they answer."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any

from slowcat_memory.core.blocks.block import history, label_of, owner_of
from slowcat_memory.core.catalogue import Catalogue, place
from slowcat_memory.core.disclosure import disclose
from slowcat_memory.core.language import language_of
from slowcat_memory.core.memory import (
    BLOCK,
    ENTITY,
    FACT,
    NOTE,
    QUARANTINED,
    SUMMARY,
    chunk_id,
    family,
    is_believed,
    names_of,
)
from slowcat_memory.core.render.memory_block import mark_of
from slowcat_memory.core.text.normalize import fold
from slowcat_memory.engine.upkeep import disk_bytes
from slowcat_memory.records import Hit, LedgerEntry, Memory, Run
from slowcat_memory.runtime.commands.executor import why
from slowcat_memory.runtime.conversation.conversation import guest_scope
from slowcat_memory.runtime.recall.query import Recollection, asked_text
from slowcat_memory.store import Snapshot, backups_of
from slowcat_memory.store.sharing import others_of
from slowcat_memory.web.context import (
    PAGE,
    PageContext,
    Refusal,
    cursor_of,
    fact_row,
    is_current,
    is_fact,
    memory_row,
    moment,
    newest,
    number,
    place_of,
    relation_words,
    reply_to,
    session_row,
    stored,
    time_of,
    turn_row,
    weeks,
    weighed_row,
)

Given = Mapping[str, str]


def start(page: PageContext, given: Given) -> dict[str, Any]:
    """Return what every view needs: whose memories there are, their language and time zone."""
    with page.memory.snapshot() as snapshot:
        scopes = page.scopes(snapshot)
    config = page.memory.config
    return {
        "scopes": scopes,
        "scope": page.person,
        "everyone": page.everyone,
        "language": language_of(config.memory.language).name,
        "zone": config.memory.time_zone,
    }


# ------------------------------------------------------------------- what is known: blocks, facts, notes, people

FACTS_OF_PERSON = 20
PEOPLE = ("person", "pet")
MARKS = {"pinned": "pinned", "muted": "muted", "local": "local_only"}


def facts(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of facts or notes, or of what has a mark, the newest first.

    Parameters: ``kind`` (fact, note, summary, or fact/preference, …), ``mark`` (pinned, muted,
    local), ``past`` (1: also what no longer holds), ``after`` (a cursor).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        with page.memory.catalogue(scope, snapshot) as catalogue:
            known = catalogue.in_order()
        wanted = _wanted(given.get("kind", FACT), given.get("mark", ""), bool(given.get("past")))
        memories, after = newest(snapshot, known, wanted, after=given.get("after", ""))
        rows = [memory_row(page, memory) for memory in memories]
    current = (row.kind for row in known if is_current(row))
    counts = Counter(kind for kind in current if family(kind) in (FACT, NOTE, SUMMARY))
    return {"rows": rows, "after": after, "counts": dict(sorted(counts.items()))}


def _wanted(kind: str, mark: str, past: bool) -> Callable[[Memory], bool]:
    if mark:
        if mark not in MARKS:
            raise Refusal(400, "There is no such mark.")
        return attrgetter(MARKS[mark])
    if family(kind) not in (FACT, NOTE, SUMMARY):
        raise Refusal(400, "There is no such kind.")

    def wanted(memory: Memory) -> bool:
        named = kind in (memory.kind, family(memory.kind))
        shown = family(memory.kind) != FACT or is_fact(memory)
        return named and shown and (past or is_current(memory))

    return wanted


def blocks(page: PageContext, given: Given) -> dict[str, Any]:
    """Return what the agent always keeps in mind."""
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        versions = history(snapshot.memories(scope, f"{BLOCK}/"))
    blocks = (block for block in versions if block.retired_at is None)
    return {
        "rows": [
            {**memory_row(page, block), "label": label_of(block), "owner": owner_of(block)}
            for block in blocks
        ]
    }


def people(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of people, those with most known about them first.

    Parameters: ``every`` (1: also places, things and topics), ``after`` (an id).
    """
    scope, every, after = page.scope(given), bool(given.get("every")), given.get("after", "")
    with page.memory.snapshot() as snapshot:
        with page.memory.catalogue(scope, snapshot) as catalogue:
            entities = [row for row in catalogue.having(("kind", ENTITY)) if is_current(row)]
            known = {row.id: len(_relations(catalogue, row.id)) for row in entities}
        wanted = [row for row in entities if every or row.kind.partition("/")[2] in PEOPLE]
        ids = [row.id for row in sorted(wanted, key=lambda row: (-known[row.id], place(row)))]
        start = ids.index(after) + 1 if after in ids else 0
        shown = ids[start : start + PAGE]
        rows = [
            {
                "id": entity.id,
                "name": page.name(scope, entity.facets.get("name", "")),
                "type": entity.kind.partition("/")[2],
                "relations": known[entity.id],
            }
            for id_ in shown
            if (entity := snapshot.memory(scope, id_))
        ]
    return {"rows": rows, "after": shown[-1] if len(ids) > start + PAGE else ""}


def _relations(catalogue: Catalogue, entity: str) -> list[Memory]:
    """Return the facts that relate an entity to something, the newest first."""
    named = (fact for fact in catalogue.having(("about", entity)) if is_fact(fact))
    known = (fact for fact in named if fact.retired_at is None or fact.valid_to is not None)
    return sorted(known, key=place, reverse=True)


def person(page: PageContext, given: Given) -> dict[str, Any]:
    """Return one person: names, what holds and what held, and facts about them.

    Parameters: ``id`` (an entity's).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        entity = snapshot.memory(scope, given.get("id", ""))
        if entity is None or entity.retired_at is not None:
            raise Refusal(404, "Nobody of this name is known any more.")
        names = names_of(entity)
        with page.memory.catalogue(scope, snapshot) as catalogue:
            every = _relations(catalogue, entity.id)
            said = sorted(catalogue.having(*(("about", fold(name)) for name in names)), key=place)
        related = stored(snapshot, every[:PAGE])
        about, _ = newest(snapshot, said, is_fact, FACTS_OF_PERSON)
        # What no relation was read from.
        rows = [memory_row(page, fact) for fact in about if fact not in related]
        lines = [
            {
                "id": relation.id,
                "own": relation.statement.subject_id == entity.id,
                **relation_words(page, relation, snapshot),
                "since": time_of(relation.valid_from),
                "until": time_of(relation.valid_to),
                "quote": relation.statement.quote,
            }
            for relation in related
        ]
    name, *also = dict.fromkeys(page.name(scope, name) for name in names)
    return {
        "name": name,
        "also": also,
        "relations": lines,
        "more": max(0, len(every) - PAGE),
        "facts": rows,
    }


def memory(page: PageContext, given: Given) -> dict[str, Any]:
    """Return one memory with its proof: the turns it was made from, and what took its place.

    Parameters: ``id``.
    """
    scope, id_ = page.scope(given), given.get("id", "")
    with page.memory.snapshot() as snapshot:
        memory = snapshot.read(scope, id_) if id_ else None
        if memory is None:
            raise Refusal(404, "That is not remembered any more.")
        said = [
            turn_row(page, turn, snapshot.memory(turn.scope, chunk_id(turn.id)))
            for n in memory.sources[:8]
            if (turn := snapshot.turn(n)) and (turn.scope == scope or page.everyone)
        ]
        later = snapshot.memory(scope, memory.facets.get("superseded_by", "") or "-")
        origins = [snapshot.read(where or scope, key) for where, key in memory.derived_from[:8]]
        readable = [m for m in origins if m and page.shows(m.scope)]
    return {
        **memory_row(page, memory),
        "context": page.present(memory).context,
        "said": said,
        "replaced": memory_row(page, later) if later else None,
        "origins": [memory_row(page, origin) for origin in readable],
    }


# ------------------------------------------------------------------- what was said, recalled, and true on a day

LOOK = 4 * PAGE  # entries, of everybody's, that are read for a page of one person's


def conversations(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of conversations, those that were spoken last first.

    Parameters: ``after`` (a cursor).
    """
    scope, after = page.scope(given), given.get("after", "")
    with page.memory.snapshot() as snapshot:
        every = (talk for talk in snapshot.sessions(scope) if talk.turns)
        talks = sorted(every, key=lambda talk: (talk.last, talk.id), reverse=True)
        talks = [talk for talk in talks if not after or (talk.last, talk.id) < place_of(after)]
        shown = talks[:PAGE]
        rows = [session_row(talk, snapshot.turn(talk.first_turn)) for talk in shown]
    more = len(talks) > PAGE
    return {"rows": rows, "after": cursor_of(shown[-1].last, shown[-1].id) if more else ""}


def turns(page: PageContext, given: Given) -> dict[str, Any]:
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


def search(page: PageContext, given: Given) -> dict[str, Any]:
    """Return the memories that answer a question best, and by what each was found.

    Parameters: ``q``.
    """
    scope, words = page.scope(given), given.get("q", "").strip()[:400]
    if not words or scope == guest_scope(page.memory.config.people):
        return {"rows": []}
    hits = page.memory.search(words, scope, PAGE, local=True).hits
    with page.memory.snapshot() as snapshot:
        turns = [snapshot.turn(next(iter(hit.memory.sources), 0)) for hit in hits]
    rows = [
        {
            **memory_row(page, hit.memory),
            "over": mark_of(hit.memory, page.memory.clock(), page.memory.zone),
            "likely": round(hit.probability, 3),
            "views": {name: round(value, 3) for name, value in hit.views.items()},
            "session": turn.session if turn else "",
        }
        for hit, turn in zip(hits, turns, strict=True)
    ]
    return {"rows": rows}


def as_of(page: PageContext, given: Given) -> dict[str, Any]:
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
        with page.memory.catalogue(scope, snapshot) as catalogue:
            known = catalogue.in_order()
        memories, after = newest(snapshot, known, wanted, after=after_, upto=at)
        rows = [
            fact_row(page, snapshot, memory, people) | {"held": held(memory)} for memory in memories
        ]
        facts = [fact for fact in known if is_fact(fact)]
        began = [fact.valid_from for fact in facts if fact.valid_from.year > 1]
        ended = [end for fact in facts if (end := fact.valid_to or fact.retired_at)]
        moments = [[talk.started for talk in snapshot.sessions(scope) if talk.turns], began, ended]
    return {
        "rows": rows,
        "after": after,
        "first": time_of(min(began, default=None)),
        "last": time_of(max(*began, page.memory.clock())) if began else None,
        "weeks": weeks(page, moments) if not given.get("at") and not after_ else None,
    }


def recalls(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of turns for which memories were looked up, the latest first.

    Parameters: ``before`` (a turn's number).
    """
    scope, before = page.scope(given), number(given, "before")
    with page.memory.snapshot() as snapshot:
        entries = snapshot.ledger_tail(LOOK, before)
        shown = [entry for entry in entries if entry.scope == scope][:PAGE]
        turns = [snapshot.turn(entry.turn) for entry in shown]
    last = shown if len(shown) == PAGE else entries if len(entries) == LOOK else []
    rows = [
        {
            "turn": entry.turn,
            "at": time_of(entry.at),
            "words": turn.text[:160] if turn else "",
            "offered": len(entry.offers),
            "ms": round(sum(entry.timings.values()), 2),
        }
        for entry, turn in zip(shown, turns, strict=True)
    ]
    return {"rows": rows, "before": last[-1].turn if last else 0}


def one(page: PageContext, given: Given) -> dict[str, Any]:
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
        reply = reply_to(snapshot, turn)
    offers = [weighed_row(page, memories.get(o.memory), o, "offered") for o in entry.offers]
    rejected = [weighed_row(page, memories.get(o.memory), o, o.reason) for o in entry.left_out]
    visible = [weighed_row(page, memories.get(id_), None, "visible") for id_ in entry.visible]
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


# ------------------------------------------------------------------- health, and idle work

WHY = {
    "order": "reads like an instruction",
    "injected": "was said together with an instruction",
    "link": "contains a link",
}
FINDING = ("what", "state", "found", "hint")  # the state is fine, note or wrong
TURNS = 200  # shown in the plot, each as a point
COUNTED = {  # rows of these tables, in words
    "log": "turns, and starts and ends of conversations",
    "memories": "memories made from them",
    "vectors": "vectors for search by meaning",
    "sessions": "conversations",
    "ledger": "recalls on record",
    "tasks": "idle tasks waiting",
}


def overview(page: PageContext, given: Given) -> dict[str, Any]:
    """Return counts, sizes, backups, and which other processes use the memory."""
    folder = page.memory.config.folder
    with page.memory.snapshot() as snapshot:
        counts = snapshot.counts()
    return {
        "disk_bytes": disk_bytes(folder),
        "counts": {COUNTED[name]: n for name, n in counts.items() if name in COUNTED},
        "embedding": page.memory.embedding.report.source,
        "backups": [
            {"at": time_of(row.at), "bytes": row.file.stat().st_size} for row in backups_of(folder)
        ],
        "others": [other.program for other in others_of(folder)],
    }


def speed(page: PageContext, given: Given) -> dict[str, Any]:
    """Return when and how fast the latest recalls were, the earliest first: columns for a plot."""
    with page.memory.snapshot() as snapshot:
        entries = snapshot.ledger_tail(TURNS)[::-1]
    shown = [row for row in entries if row.timings]
    return {
        "at": [row.at.timestamp() for row in shown],
        "recall": [
            round(sum(row.timings.values()) - row.timings.get("wait", 0.0), 3) for row in shown
        ],
        "wait": [row.timings.get("wait") for row in shown],
    }


def doctor(page: PageContext, given: Given) -> dict[str, Any]:
    """Run the checks; takes seconds."""
    if page.doctor is None:
        raise Refusal(404, "This page has no checks.")
    findings = page.doctor(page.memory)
    return {"rows": [{name: getattr(finding, name) for name in FINDING} for finding in findings]}


def work(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of the last steps of idle jobs, and what waits by job.

    Parameters: ``before`` (a run's number).
    """
    before = number(given, "before")
    with page.memory.snapshot() as snapshot:
        runs = snapshot.runs(PAGE + 1, before)
        rows = [_run(page, snapshot, run) for run in runs[:PAGE]]
        waiting = snapshot.tasks_by_job()
    return {
        "rows": rows,
        "before": runs[PAGE - 1].id if len(runs) > PAGE else 0,
        "waiting": waiting,
        "tokens": sum(run.tokens_in + run.tokens_out for run in runs[:PAGE]),
        "ms": round(sum(run.ms for run in runs[:PAGE])),
        "llm": bool(page.memory.config.thinking.url),
    }


def _run(page: PageContext, snapshot: Snapshot, run: Run) -> dict[str, Any]:
    task = snapshot.task(run.task) if run.outcome == "dead" else None
    named = page.everyone or page.person in run.task.split("/")  # ids name other people's scopes
    return {
        "run": run.id,
        "task": run.task if named else "",
        "job": run.job.replace("_", " "),
        "at": time_of(run.at),
        "ms": round(run.ms, 1),
        **{name: getattr(run, name) for name in ("outcome", "model", "made", "error")},
        "tokens": run.tokens_in + run.tokens_out,
        "retry": named and task is not None and task.state == "dead",
    }


def rejected(page: PageContext, given: Given) -> dict[str, Any]:
    """Return a page of facts that were kept out of every prompt, and why.

    Parameters: ``after`` (a cursor).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        with page.memory.catalogue(scope, snapshot) as catalogue:
            kept_out = sorted(catalogue.having(("kind", QUARANTINED)), key=place)
        memories, after = newest(snapshot, kept_out, after=given.get("after", ""))
        rows = [memory_row(page, memory) for memory in memories]
    for row in rows:
        row["reason"] = WHY.get(row["why"], "did not pass a check")
    return {"rows": rows, "after": after}
