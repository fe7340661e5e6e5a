"""A store with turns, and a minimal idle loop, for the descriptions of chunks."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.idle.job import Contexts, JobDeps
from slowcat_memory.idle.jobs.extraction.contextualize import NAME, Contextualize
from slowcat_memory.idle.jobs.extraction.session_extractor import Asked
from slowcat_memory.idle.jobs.options import ContextualizeOptions
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Task, WriteBatch
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM
from tests.support.sessions import hold

GARDEN = [f"The {plant} in my garden is growing again" for plant in
          "oak rose fern moss hazel tulip lily maple birch cedar thyme basil".split()]  # fmt: skip
AT = datetime(2024, 3, 1, 18, tzinfo=UTC)
JOB = Contextualize()


def reply(prompt: Prompt) -> dict[str, Any]:
    """Describe every requested turn, by the words of the record."""
    lines = dict(re.findall(r"^\[(\d+)\] (.*)$", prompt.user, re.M))
    [last] = re.findall(r"^Write about the turns (.*)\.$", prompt.user, re.M)
    return {
        "turns": [
            {
                "turn": int(n),
                "context": f"Somebody says: {lines[n]}",
                "questions": [f"About {lines[n]}?"],
            }
            for n in last.split(", ")
        ]
    }


class House:
    """A store with turns, and a minimal idle loop."""

    def __init__(self, path: Path, llm: Any = None, **options: Any) -> None:
        self.store = Store.open(path, options=StoreOptions(map_size_gib=1 / 16))
        self.llm = llm or ScriptedLLM(reply)
        self.clock, self.embedder = FixedClock(AT + timedelta(days=30)), HashEmbedder(token_dim=8)
        self.scopes = ["anna"]
        self.open(**options)

    def open(self, **options: Any) -> None:
        self.contexts = Contexts(
            JobDeps(
                store=self.store,
                upkeep=None,  # type: ignore[arg-type]
                clock=self.clock,
                zone=UTC,
                scopes=lambda: self.scopes,
                llm=self.llm,
                embed=self.embedder.encode_tokens,
                space=lambda: self.embedder.key,
                token_space=lambda: self.embedder.token_key,
                options={NAME: ContextualizeOptions(**options)},
            )
        )

    def say(
        self, session: str, *texts: str, at: datetime = AT, end: bool = True, **more: Any
    ) -> list[int]:
        with self.store.snapshot() as snapshot:
            kind = "resume" if snapshot.session(session) else "start"
        how = {"step_s": 1, "speaker": "Ada", "kind": kind, "ended": end, **more}
        turns = hold(self.store, session, texts, at, **how)
        self.store.flush(None)
        return turns

    def plan(self) -> list[Task]:
        """Plan the job until its cursor stops; return the waiting tasks, in the loop's order."""
        for _ in range(50):
            plan = JOB.plan(self.contexts(JOB))
            if plan is None:
                break
            self.store.apply(NAME, WriteBatch(tasks=plan.tasks, cursor=plan.cursor))
            self.store.flush(None)
        else:
            raise AssertionError("the cursor never stands still")
        with self.store.snapshot() as snapshot:
            waiting = list(snapshot.tasks())
        return sorted(waiting, key=lambda task: (task.rank, -task.created.timestamp(), task.id))

    def step(self, task: Task) -> WriteBatch:
        batch = asyncio.run(JOB.step(task, self.contexts(JOB)))
        self.store.apply(NAME, replace(batch, done=task.id))
        self.store.flush(None)
        return batch

    def work(self) -> None:
        while waiting := self.plan():
            self.step(waiting[0])

    def asked(self, task: Task) -> list[int]:
        return msgspec.json.decode(task.note, type=Asked).turns

    def context(self, turn: int) -> str:
        with self.store.snapshot() as snapshot:
            found = snapshot.context("anna", chunk_id(turn))
        return found.text if found else ""

    def keys(self, turn: int) -> list[str]:
        with self.store.snapshot() as snapshot:
            return [key.id for key in snapshot.keys("anna", chunk_id(turn))]
