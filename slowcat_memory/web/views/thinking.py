"""What are you thinking? Idle work: what waits, what was done, what was rejected, what it cost."""

from collections.abc import Mapping
from typing import Any

from slowcat_memory.core.memory import QUARANTINED
from slowcat_memory.records import Run
from slowcat_memory.store import Snapshot
from slowcat_memory.web.context import PageContext
from slowcat_memory.web.replies import PAGE, number
from slowcat_memory.web.shapes import memory_row, time_of

WHY = {
    "order": "reads like an instruction",
    "injected": "was said together with an instruction",
    "link": "contains a link",
}


def work(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of the last steps of idle jobs, and what waits by job.

    Parameters: ``before`` (a run's number).
    """
    before = number(given, "before")
    with page.memory.snapshot() as snapshot:
        runs = snapshot.runs(PAGE + 1, before)
        rows = [_run(page, snapshot, run) for run in runs[:PAGE]]
        waiting = snapshot.tasks_by_job()
    config = page.memory.config
    return {
        "rows": rows,
        "before": runs[PAGE - 1].id if len(runs) > PAGE else 0,
        "waiting": waiting,
        "tokens": sum(run.tokens_in + run.tokens_out for run in runs[:PAGE]),
        "ms": round(sum(run.ms for run in runs[:PAGE])),
        "llm": bool(config.thinking.url),
        "enabled": config.idle.enabled,
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
        "outcome": run.outcome,
        "model": run.model,
        "tokens": run.tokens_in + run.tokens_out,
        "made": run.made,
        "error": run.error,
        "retry": task is not None and task.state == "dead",
    }


def rejected(page: PageContext, given: Mapping[str, str]) -> dict[str, Any]:
    """Return a page of facts that were kept out of every prompt, and why.

    Parameters: ``after`` (a cursor).
    """
    scope = page.scope(given)
    with page.memory.snapshot() as snapshot:
        found, after = page.catalogue(scope, snapshot).page(
            lambda one: one.kind == QUARANTINED, PAGE, given.get("after", "")
        )
        read = (snapshot.memory(scope, one.id) for one in found)
        rows = [memory_row(page, one) for one in read if one is not None]
    for row in rows:
        row["reason"] = WHY.get(row["why"], "did not pass a check")
    return {"rows": rows, "after": after}
