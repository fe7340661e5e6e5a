"""A store with turns and the job that reads them, for tests of the register."""

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from slowcat_memory.core.extraction.predicates import sentence
from slowcat_memory.core.graph.build import names_of
from slowcat_memory.core.graph.portrait import EntityNames
from slowcat_memory.core.validity import as_of
from slowcat_memory.idle.jobs.extraction.facts import NAME, Facts
from slowcat_memory.idle.jobs.options import FactsOptions
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import ScriptedLLM, think
from tests.support.sessions import hold

T1 = datetime(2025, 1, 6, 18, tzinfo=UTC)
MONTH = timedelta(days=30)
JOB = Facts()


def turn_numbers(prompt: Prompt) -> list[int]:
    [last] = re.findall(r"^Write the facts of the turns (.*)\.$", prompt.user, re.M)
    return [int(one) for one in last.split(", ")]


def by_words(*answers: tuple[str, dict[str, Any]]) -> ScriptedLLM:
    """An LLM that answers each turn with certain words; entities as given, the turn filled in."""

    def reply(prompt: Prompt) -> dict[str, Any]:
        lines = dict(re.findall(r"^\[(\d+)\] [^:]*: (.*)$", prompt.user, re.M))
        entities, facts = [], []
        for number in turn_numbers(prompt):
            for words, answer in answers:
                if words in lines[str(number)]:
                    entities += answer.get("entities", [])
                    facts += [{**one, "turn": number} for one in answer.get("facts", [])]
        return {"entities": entities, "facts": facts}

    return ScriptedLLM(reply)


def entity(name: str, type: str = "person", **attributes: str) -> dict[str, Any]:
    return {"name": name, "type": type, "attributes": attributes, "confidence": "high"}


def related(subject: str, predicate: str, object: str, quote: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "person", "subject": subject, "predicate": predicate, "object": object,
        "content": sentence(subject, predicate, object), "quote": quote, "confidence": "high", **more,
    }  # fmt: skip


class House:
    """A store with turns, and the job."""

    def __init__(self, path: Path) -> None:
        self.store = Store.open(path, options=StoreOptions(map_size_gib=1 / 16))
        self.sessions = 0

    def say(self, *texts: str, at: datetime = T1, speaker: str = "Anna", role: Any = "user") -> int:
        self.sessions += 1
        how = {"speaker": speaker, "role": role, "step_s": 60}
        turns = hold(self.store, f"s{self.sessions}", texts, at, **how)
        self.store.flush(None)
        return turns[-1]

    def think(self, llm: Any = None, now: datetime | None = None, **options: Any) -> None:
        left = asyncio.run(
            think(self.store, JOB, llm=llm, now=now or T1 + 24 * MONTH,
                  options={NAME: FactsOptions(**options)})
        )  # fmt: skip
        assert left == 0
        self.store.flush(None)

    def memories(self, beginning: str) -> list[Memory]:
        with self.store.snapshot() as snapshot:
            return list(snapshot.memories("anna", beginning))

    def rows(self) -> list[Memory]:
        return self.memories("relation/")

    def entities(self) -> dict[str, Memory]:
        return {one.id: one for one in self.memories("entity/") if not one.retired_at}

    def names(self) -> EntityNames:
        return EntityNames(self.memories("entity/"))

    def told(self, rows: list[Memory]) -> list[tuple[str, str, str]]:
        names, said = self.names(), (row.statement for row in rows)
        return sorted((names[one.subject], one.predicate, names[one.object]) for one in said)

    def now(self, predicate: str = "") -> list[tuple[str, str, str]]:
        rows = as_of(self.rows(), T1 + 24 * MONTH)
        return [one for one in self.told(rows) if predicate in ("", one[1])]

    def known(self) -> list[str]:
        return sorted(names_of(one)[0] for one in self.entities().values())
