"""Moving what was said long ago into blocks that take less room.

What goes where is ``core.ageing``'s business, and how it moves ``store.ageing``'s. How much a memory
matters is made anew there from its words, its use and pins, so that nothing of it is kept here.
"""

from msgspec import Struct

from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, now_seen, touched
from slowcat_memory.records import Task, WriteBatch


class Ageing:
    """Ages the namespaces in which something was said, and all of them once a day."""

    name = "ageing"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=900.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """List the namespaces in which something may move.

        Args:
            context: What it may use.

        Returns:
            A task for each; None when nothing was said since, nor a day began.
        """
        with context.snapshot() as snapshot:
            today = context.now.astimezone(context.zone).date().isoformat()
            seen = now_seen(snapshot, today)
            scopes = touched(snapshot, self.name, today, context.scopes(), made=False)
        if not scopes:
            return None
        tasks = tuple(
            Task(
                id=f"{self.name}/{scope}/", job=self.name, key="", scope=scope, created=context.now
            )
            for scope in scopes
        )
        return Plan(tasks=tasks, cursor=cursor_of(self.name, seen), more=False)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Move what is due, until somebody speaks.

        Args:
            task: Names the namespace.
            context: What it may use.

        Returns:
            Nothing to write: each move is a transaction of its own.
        """
        await context.blocking(context.upkeep.age, task.scope, context.interrupted)
        return WriteBatch()
