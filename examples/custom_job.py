# SPDX-License-Identifier: BSD-2-Clause
"""An idle job of your own: work on the conversation while nobody speaks.

This one notes what users say they love. It needs no LLM; a job that does sets ``needs = "llm"`` and calls
``await context.ask(Reply, instruction, text, scope, turns=…, max_tokens=…)`` in its step.

To try it, without a bot::

    pip install .
    python examples/custom_job.py

To run it in every agent on the machine, put the class into a package and add to its pyproject.toml::

    [project.entry-points."slowcat_memory.jobs"]
    loves = "my_package.custom_job:Loves"
"""

import asyncio
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from slowcat_memory.idle.job import JobContext, Plan, Trigger
from slowcat_memory.records import Cursor, Made, Memory, Task, Turn, WriteBatch
from slowcat_memory.store import Store
from slowcat_memory.testing import check_job, think

PIECE = 100  # turns read by one plan, which must take milliseconds


class LovesOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Options of the job.

    Attributes:
        words: Verbs to look for.
    """

    words: tuple[str, ...] = ("love", "adore")


class Loves:
    """Notes what users love."""

    name = "loves"
    version = 1  # increase it when the rule changes: it is stored with every result
    needs = "nothing"
    trigger = Trigger(turns=1, session_end=True)
    Options = LovesOptions

    def plan(self, context: JobContext) -> Plan | None:
        """Return a task for each user turn that has not been read yet."""
        with context.snapshot() as snapshot:
            cursor = snapshot.cursor(self.name)
            behind = cursor.position if cursor else 0
            events = snapshot.turns(after=behind)
            turns = [turn for turn, _ in zip(events, range(PIECE), strict=False)]
        if not turns:
            return None
        tasks = tuple(self._task(turn) for turn in turns if turn.role == "user")
        return Plan(tasks=tasks, cursor=Cursor(name=self.name, position=turns[-1].id))

    def _task(self, turn: Turn) -> Task:
        return Task(
            id=f"{self.name}/{turn.scope}/{turn.id}",
            job=self.name,
            scope=turn.scope,
            key=str(turn.id),
            created=turn.at,
            sources=(turn.id,),  # forgetting the turn deletes the task
        )

    async def step(self, task: Task, context: JobContext) -> WriteBatch:
        """Do one task. It writes nothing itself; the returned batch is written as a whole."""
        with context.snapshot() as snapshot:
            turn = snapshot.turn(int(task.key))
        verbs = "|".join(map(re.escape, context.options.words))
        found = re.search(rf"\bI (?:{verbs}) ([^.!?,]+)", turn.text) if turn else None
        if turn is None or found is None:
            return WriteBatch()
        note = Memory(
            id=f"note/loves/{turn.id}",  # from its source: done twice, it exists once
            kind="note",
            scope=turn.scope,
            speaker=turn.speaker,
            text=f"{turn.speaker} loves {found[1]}.",
            valid_from=turn.at,
            sources=(turn.id,),  # forgetting the turn deletes the note
            made=Made(job=self.name, version=self.version),
        )
        return WriteBatch(memories=(note,))


def main() -> None:
    said = ("I love old bicycles.", "It rains.", "I adore the sea, you know.")
    at = datetime(2026, 5, 12, 18, 30, tzinfo=UTC)
    turns = [
        Turn(session="today", scope="anna", speaker="Anna", role="user", text=text, at=at)
        for text in said
    ]
    check_job(Loves(), turns)  # for your tests: raises AssertionError when a rule is broken
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        store.append_all(turns)[-1].wait()
        asyncio.run(think(store, Loves()))
        with store.snapshot() as snapshot:
            for memory in snapshot.memories("anna"):
                print(memory.text)


if __name__ == "__main__":
    main()
