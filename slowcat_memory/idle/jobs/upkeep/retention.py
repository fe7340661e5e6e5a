"""Erasing what is kept for some time only: what guests said, and, if so configured, old turns."""

from msgspec import Struct

from slowcat_memory.core.retention.retention import RetentionOptions
from slowcat_memory.idle.job import JobContext, Needs, Plan, Trigger
from slowcat_memory.records import Task, WriteBatch


class Retention:
    """Erases what was kept for long enough."""

    name = "retention"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=300.0)
    Options: type[Struct] = RetentionOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Look whether anything is older than it may become.

        Args:
            context: What it may use.

        Returns:
            One task for all of it; None when nothing is.
        """
        if not context.upkeep.expired():
            return None
        task = Task(id="retention//", job=self.name, key="", created=context.now, rank=0)
        return Plan(tasks=(task,))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Erase it.

        Args:
            task: Of no further meaning.
            context: What it may use.

        Returns:
            Nothing to write: erasing is a transaction of its own.
        """
        await context.blocking(context.upkeep.erase_expired)
        return WriteBatch()
