"""Erasing for good what a person had forgotten, once it can no longer be undone.

It is out of recall from the moment of the order; this takes it out of the files.
"""

from msgspec import Struct

from slowcat_memory.idle.job import JobContext, Needs, NoOptions, Plan, Trigger
from slowcat_memory.records import Task, WriteBatch


class Erase:
    """Erases what is due."""

    name = "erase"
    version = 1
    needs: Needs = "nothing"
    trigger = Trigger(session_end=True, every_s=60.0)
    Options: type[Struct] = NoOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Look for orders that can no longer be undone.

        Args:
            context: What it may use.

        Returns:
            One task for all of them; None when there is none.
        """
        with context.snapshot() as snapshot:
            orders = snapshot.commands()
        if not any(o.state == "done" and o.due and o.due <= context.now for o in orders):
            return None
        return Plan(tasks=(Task(id="erase//", job=self.name, key="", created=context.now, rank=0),))

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Erase.

        Args:
            task: Of no further meaning.
            context: What it may use.

        Returns:
            Nothing to write: erasing is a transaction of its own.
        """
        await context.blocking(context.upkeep.erase_due)
        return WriteBatch()
