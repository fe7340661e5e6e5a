"""Making vectors exact: those of drafts, and all of them after the model has changed.

Vectors live in the space of the model that made them, and only those of the model in use are ever
compared. So after a change words answer at once, and vectors as they come; and a model that comes
back finds its own.
"""

from msgspec import Struct

from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger
from slowcat_memory.idle.jobs.changed_scopes import cursor_of, now_seen, touched
from slowcat_memory.records import Task, WriteBatch


class Reembed:
    """Embeds what has no exact vector of the model in use."""

    name = "reembed"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=3600.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """List the namespaces that may lack vectors.

        Args:
            context: What it may use.

        Returns:
            A task for each; None without a model, and when nothing has changed since.
        """
        if not context.space:
            return None
        mark = f"{context.space} {context.token_space}"
        with context.snapshot() as snapshot:
            seen = now_seen(snapshot, mark)
            scopes = touched(snapshot, self.name, mark, context.scopes())
        if not scopes:
            return None
        tasks = tuple(
            Task(
                id=f"{self.name}/{scope}/",
                job=self.name,
                key="",
                scope=scope,
                created=context.now,
                rank=60,  # behind what makes texts: their vectors are made with the others
            )
            for scope in scopes
        )
        return Plan(tasks=tasks, cursor=cursor_of(self.name, seen), more=False)

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Embed, slice by slice, until somebody speaks.

        Args:
            task: Names the namespace.
            context: What it may use.

        Returns:
            Nothing to write: each slice is a transaction of its own, and is not made again.
        """
        if await context.blocking(context.upkeep.embed_due, task.scope):
            await context.blocking(_embed, context, task.scope)
        return WriteBatch()


def _embed(context: JobContext, scope: str) -> None:
    context.upkeep.embed(scope, stop=context.interrupted)
