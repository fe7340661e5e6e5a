"""What a person may change on the page. Each change answers with the request that takes it back."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory.core.memory import turn_of
from slowcat_memory.idle.jobs.rerank import JUDGED_QUERY, judgeable
from slowcat_memory.idle.scheduler.step import second_try
from slowcat_memory.records import Forget, Key, Made, WriteBatch
from slowcat_memory.web.context import PageContext, Refusal, memory_row, moment, text, turn_row

JOB = "person"  # who made a change, in its row
MARKS = {
    "pinned": ("Unpinned", "Pinned"),
    "local_only": ("May leave this machine", "Kept on this machine"),
    "muted": ("Unmuted", "Muted"),
}
OPPOSITE = {"pinned": "muted", "muted": "pinned"}
PREVIEWED = 8  # rows of a preview
WINDOW_S = 10.0  # for which an order to forget can be undone
WRONG = -1.0  # weight of a memory that does not answer a question
PAUSE = "page/paused"  # the activity that holds idle work back

Given = Mapping[str, Any]


def mark(page: PageContext, given: Given) -> dict[str, Any]:
    """Set or clear a mark. Fields: ``id``, and ``pinned``, ``local_only`` or ``muted``.

    What is pinned is not muted, and what is muted is not pinned.
    """
    scope, id_ = page.scope(given), text(given, "id")
    marks = {name: given[name] for name in MARKS if isinstance(given.get(name), bool)}
    if len(marks) != 1:
        raise Refusal(400, "Name one mark.")
    ((name, on),) = marks.items()
    with page.memory.snapshot() as snapshot:
        before = snapshot.read(scope, id_)
    if on and before and getattr(before, OPPOSITE.get(name, ""), False):
        marks[OPPOSITE[name]] = False
    changed = page.memory.edit(scope, id_, **marks)
    if before is None or changed is None:
        raise Refusal(404, "That is not remembered any more.")
    back = {OPPOSITE[name]: True} if len(marks) > 1 else {name: getattr(before, name)}
    undo = _request(MARKS[name][on], "mark", scope=scope, id=id_, **back)
    return {"memory": memory_row(page, changed), "undo": undo, "words": MARKS[name][on]}


def _request(words: str, path: str, **given: Any) -> dict[str, Any]:
    """Return the request that takes a change back, and how the change is called."""
    return {"words": words, "path": path, "given": given}


def correct(page: PageContext, given: Given) -> dict[str, Any]:
    """Put the person's own words in a memory's place. Fields: ``id``, ``text``."""
    scope, id_, words = page.scope(given), text(given, "id"), text(given, "text")
    with page.memory.snapshot() as snapshot:
        before = snapshot.memory(scope, id_)
    if before is None or before.retired_at is not None:
        raise Refusal(404, "That is not remembered any more.")
    memory = page.memory.edit(scope, id_, text=words)
    if memory is None:
        raise Refusal(409, "What was said stays as it was said: mute or forget it instead.")
    with page.memory.snapshot() as snapshot:
        row = next((row for row in snapshot.commands(scope) if memory.id in row.made), None)
    undo = _request("Corrected", "undo", scope=scope, undo=row.id) if row else None
    return {"memory": memory_row(page, memory), "undo": undo, "words": "Corrected"}


# ------------------------------------------------------------------- forgetting


def preview(page: PageContext, given: Given) -> dict[str, Any]:
    """Return what an order to forget would delete. Fields: see ``_order``."""
    gone = page.memory.forget(_order(page, given), dry_run=True)
    derived = [key for key in gone.memories if not turn_of(key[1])]
    with page.memory.snapshot() as snapshot:
        turns = [turn for id_ in gone.turns[:PREVIEWED] if (turn := snapshot.turn(id_))]
        memories = [memory for key in derived[:PREVIEWED] if (memory := snapshot.memory(*key))]
    return {
        "turns": len(gone.turns),
        "memories": len(derived),
        "rows": [turn_row(page, turn) for turn in turns],
        "made": [memory_row(page, memory) for memory in memories],
        "seconds": WINDOW_S,
    }


def forget(page: PageContext, given: Given) -> dict[str, Any]:
    """Hide at once, and delete for good once the time to undo is over. Fields: see ``_order``."""
    order = page.memory.forget(_order(page, given), undo_s=WINDOW_S).order
    if order is None:
        raise Refusal(404, "That is not remembered any more.")
    undo = _request("Kept", "undo", scope=order.scope, undo=order.id)
    return {"undo": undo, "words": "Forgetting", "seconds": WINDOW_S}


def undo(page: PageContext, given: Given) -> dict[str, Any]:
    """Take back a correction or an order to forget. Fields: ``undo`` (its number)."""
    scope, number = page.scope(given), given.get("undo")
    if not isinstance(number, int):
        raise Refusal(400, "undo is not a number.")
    with page.memory.snapshot() as snapshot:
        row = next((row for row in snapshot.commands(scope) if row.id == number), None)
    if row is None or page.memory.undo(row) is None:
        raise Refusal(410, "That cannot be undone any more.")
    return {}


def _order(page: PageContext, given: Given) -> Forget:
    """Return the order that a request names; always of one scope.

    Fields: ``id`` (a memory's or a turn's), or ``session``, or ``since`` and ``until`` (times).
    """
    scope = page.scope(given)
    if given.get("id"):
        return Forget(scope=scope, memories=(text(given, "id"),))
    if given.get("session"):
        return Forget(scope=scope, session=text(given, "session"))
    times = {name: str(given[name]) for name in ("since", "until") if given.get(name)}
    since, until = moment(times, "since"), moment(times, "until")
    if since is None or until is None:
        raise Refusal(400, "Say what to forget.")
    if since >= until:
        raise Refusal(400, "The first time must be before the last.")
    return Forget(scope=scope, since=since, until=until)


# ------------------------------------------------------------------- judgements, work, care


def wrong(page: PageContext, given: Given) -> dict[str, Any]:
    """Note that a memory did not answer a turn; later recalls rank it lower for such questions.

    Fields: ``turn``, ``id``; with ``right`` it is taken back.
    """
    scope, id_ = page.scope(given), text(given, "id")
    number = given.get("turn")
    key_id = f"{id_}?a{number}"
    if given.get("right"):
        page.memory.apply(JOB, WriteBatch(drop_keys=((scope, key_id),)))
        return {}
    with page.memory.snapshot() as snapshot:
        turn = snapshot.turn(number) if isinstance(number, int) else None
        memory = judgeable(snapshot, scope, id_)
    if turn is None or turn.scope != scope or memory is None:
        raise Refusal(409, "This cannot be judged: it is local-only, or not searched for.")
    key = Key(
        scope=scope,
        memory=id_,
        id=key_id,
        kind=JUDGED_QUERY,
        text=turn.text,
        weight=WRONG,
        sources=(turn.id,),
        made=Made(job=JOB),
    )
    page.memory.apply(JOB, WriteBatch(keys=(key,)))
    undo = _request("Noted as wrong", "wrong", scope=scope, turn=turn.id, id=id_, right=True)
    return {"undo": undo, "words": "Noted as wrong"}


def think(page: PageContext, given: Given) -> dict[str, Any]:
    """Do the idle work that is due; returns when it is done, or stopped."""
    page.memory.set_activity(PAUSE, False)
    rest = page.think()
    return {"left": rest or 0, "stopped": rest is None}


def pause(page: PageContext, given: Given) -> dict[str, Any]:
    """Hold idle work back, as while somebody speaks, or let it go on. Fields: ``on``."""
    on = bool(given.get("on"))
    page.memory.set_activity(PAUSE, on)
    if on:
        page.stop_thinking()
    return {"paused": on}


def retry(page: PageContext, given: Given) -> dict[str, Any]:
    """Try tasks again that were given up. Fields: ``task``, or none for all that the page shows."""
    wanted = given.get("task")
    with page.memory.snapshot() as snapshot:
        dead = snapshot.tasks(state="dead")
    tasks = [task for task in dead if page.shows(task.scope) and wanted in (None, task.id)]
    for task in tasks:
        page.memory.apply(JOB, second_try(task))
    return {"tasks": len(tasks)}


def back_up(page: PageContext, given: Given) -> dict[str, Any]:
    """Copy the store's file, and check the copy."""
    return {"bytes": page.memory.upkeep.backup().stat().st_size}
