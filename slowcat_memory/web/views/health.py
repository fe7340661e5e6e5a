"""Views of the memory's health and of idle work."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory.core.catalogue import place
from slowcat_memory.core.memory import QUARANTINED
from slowcat_memory.engine.upkeep import disk_bytes
from slowcat_memory.records import Run
from slowcat_memory.store import Snapshot, backups_of
from slowcat_memory.store.sharing import others_of
from slowcat_memory.web.catalogue import newest, stored
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, Refusal, number
from slowcat_memory.web.shapes import memory_row, time_of

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


def overview(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return counts, sizes, backups, and which other processes use the memory."""
    folder = page.memory.config.folder
    with page.memory.snapshot() as snapshot:
        counts = snapshot.counts()
    return {
        "disk_bytes": disk_bytes(folder),
        "counts": {COUNTED[name]: n for name, n in counts.items() if name in COUNTED},
        "embedding": page.memory.embedding.source,
        "backups": [
            {"at": time_of(row.at), "bytes": row.file.stat().st_size} for row in backups_of(folder)
        ],
        "others": [other.program for other in others_of(folder)],
    }


def speed(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
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


def doctor(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Run the checks; takes seconds."""
    if page.doctor is None:
        raise Refusal(404, "This page has no checks.")
    findings = page.doctor(page.memory)
    return {"rows": [{name: getattr(finding, name) for name in FINDING} for finding in findings]}


def work(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
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


def rejected(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of facts that were kept out of every prompt, and why.

    Parameters: ``after`` (a cursor).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        with page.catalogue(scope, snapshot) as catalogue:
            kept_out = sorted(catalogue.having(("kind", QUARANTINED)), key=place)
        memories, after = newest(kept_out, lambda _: True, PAGE, given.get("after", ""))
        rows = [memory_row(page, memory) for memory in stored(snapshot, scope, memories)]
    for row in rows:
        row["reason"] = WHY.get(row["why"], "did not pass a check")
    return {"rows": rows, "after": after}
