"""Building and publishing sealed indexes, once a namespace's tail has grown.

A child process builds, and reads the store itself (see ``runtime.sealing``): who speaks meanwhile
is answered from the index that goes on, and the build is finished behind their back.
"""

from msgspec import Struct

from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, now_seen, touched
from slowcat_memory.records import Task, WriteBatch


class Seal:
    """Rebuilds the index of a namespace in which enough was said."""

    name = "seal"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """List the namespaces whose index is due.

        Args:
            context: What it may use.

        Returns:
            A task for each; None when nothing was said since.
        """
        with context.snapshot() as snapshot:
            seen = now_seen(snapshot, context.space)
            scopes = touched(snapshot, self.name, seen.mark, context.scopes())
        if not scopes:
            return None
        tasks = tuple(
            Task(
                id=f"{self.name}/{scope}/", job=self.name, key="", scope=scope, created=context.now
            )
            for scope in scopes
            if context.upkeep.seal_due(scope)
        )
        return Plan(tasks=tasks, cursor=cursor_of(self.name, seen), more=False)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Rebuild one index, if that is still worth while.

        Args:
            task: Names the namespace.
            context: What it may use.

        Returns:
            Nothing to write: what vouches for an index is published with it.
        """
        if context.upkeep.seal_due(task.scope):
            await context.blocking(context.upkeep.seal, task.scope)
        return WriteBatch()
