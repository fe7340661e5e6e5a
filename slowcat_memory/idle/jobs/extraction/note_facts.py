"""Facts of notes: what a user asked to keep, or another program wrote down, read by rule.

Notes are in no session, so the job ``facts`` does not meet them. A fact of a note names the note as
its origin: forgetting the note deletes it, and recall finds the note, not the fact.
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.facts.fact import fact_id, fact_memory
from slowcat_memory.core.facts.noted import facts_of_note
from slowcat_memory.core.memory import FACT, NOTE
from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger, new_task
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, touched
from slowcat_memory.idle.jobs.extraction.facts import merge_task
from slowcat_memory.records import Made, Memory, Task, WriteBatch

NAME, VERSION, RANK = "note_facts", 1, 46


class NoteFacts:
    """The job; see ``idle.job.Job``."""

    name = NAME
    version = VERSION
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Plan a task for each namespace with notes that changed."""
        with context.snapshot() as snapshot:
            mark = str(VERSION)
            cursor = cursor_of(NAME, snapshot, mark)
            if snapshot.cursor(NAME) == cursor:
                return None
            scopes = touched(snapshot, NAME, mark, context.scopes(), f"{FACT}/")
            with_notes = [s for s in scopes if next(snapshot.memories(s, f"{NOTE}/"), None)]
        tasks = (new_task(NAME, scope, NOTE, context.now, RANK) for scope in with_notes)
        return Plan(tasks=tuple(tasks), cursor=cursor)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Write the facts of current notes that are not there yet; retire those of former notes."""
        with context.snapshot() as snapshot:
            notes = list(snapshot.memories(task.scope, f"{NOTE}/"))
            known = {one.id: one for one in snapshot.memories(task.scope, f"{FACT}/")}
        current = [one for one in notes if one.retired_at is None]
        new = {one.id: one for one in _facts(current, context) if one.id not in known}
        gone = {(one.scope, one.id) for one in notes if one.retired_at is not None}
        retired = [
            replace(one, retired_at=context.now)
            for one in known.values()
            if one.retired_at is None and not gone.isdisjoint(one.derived_from) and _is_ours(one)
        ]
        made = list(new.values())
        return WriteBatch(
            memories=(*made, *retired), tasks=(merge_task(made, context),) if made else ()
        )


def _facts(notes: Iterable[Memory], context: JobContext) -> Iterator[Memory]:
    made = Made(job=NAME, version=VERSION)
    for note in notes:
        for drawn in facts_of_note(note, context.zone):
            fact = fact_memory(drawn, context.now, made, local_only=note.local_only)
            yield replace(
                fact,
                id=fact_id(note.scope, f"{note.id} {fact.text}", 0),
                derived_from=((note.scope, note.id),),
                local_inherited=note.local_only,
            )


def _is_ours(fact: Memory) -> bool:
    return fact.made is not None and fact.made.job == NAME
