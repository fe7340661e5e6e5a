"""A user who talks to an agent day after day, and an idle loop that summarises: for tests."""

import re
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from slowcat_memory.core.summaries.summary import current
from slowcat_memory.idle.job import Contexts, JobDeps
from slowcat_memory.idle.jobs.options import SHARED_SECTION, SummariesOptions
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.registry import SUMMARIES
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import FixedClock, HashEmbedder
from tests.support.idle_doubles import drain
from tests.support.sessions import hold

MONDAY = datetime(2026, 5, 11, 9, tzinfo=UTC)
SMALL = StoreOptions(map_size_gib=1 / 16)
AT_ONCE = IdleOptions(grace_s=0.0, rest_s=0.01, backoff_s=0.01)
JOBS = SUMMARIES


def reflection(prompt: Prompt) -> dict[str, Any]:
    """Summarise by the first words of the record, which were all said."""
    said = re.findall(r"^\[\d+\] [^:]*: (.*)$", prompt.user, re.M)
    words = said[0].rstrip(".").split()[:12]
    return {
        "summary": " ".join(words) + ".",
        "topics": [" ".join(words[:3])],
        "entities": [],
        "tone": "calm",
        "relationship": "",
    }


class House:
    """A store, its user and an idle loop."""

    def __init__(
        self, path: Path, llm: Any = None, *, zone: tzinfo = UTC, model: bool = False,
        now: datetime = MONDAY, store: Any = None, **options: Any,
    ) -> None:  # fmt: skip
        self.store = store or Store.open(path, options=SMALL)
        self.llm, self.zone, self.clock = llm, zone, FixedClock(now)
        self.options, self.model = SummariesOptions(**options), model
        self.embedder = HashEmbedder()

    def contexts(self) -> Contexts:
        given = {
            "store": self.store, "upkeep": None, "clock": self.clock, "zone": self.zone,
            "scopes": self.scopes, "llm": self.llm,
            "options": dict.fromkeys(SHARED_SECTION, self.options),
        }  # fmt: skip
        if self.model:
            given |= {
                "embed": self.embedder.encode_tokens, "space": lambda: self.embedder.key,
            }  # fmt: skip
        return Contexts(JobDeps(**given))  # type: ignore[arg-type]

    def scopes(self) -> list[str]:
        with self.store.snapshot() as snapshot:
            return snapshot.scopes()

    def talk(
        self, session: str, *texts: str, at: datetime | None = None, end: bool = True,
        scope: str = "anna", speaker: str = "Anna",
    ) -> list[int]:  # fmt: skip
        """Add turns, at a time or now, one each minute."""
        with self.store.snapshot() as snapshot:
            kind = "resume" if snapshot.session(session) else "start"
        how = {"scope": scope, "speaker": speaker, "reason": "silence", "kind": kind, "ended": end}
        turns = hold(self.store, session, texts, at or self.clock.now, step_s=60, **how)
        self.store.flush(None)
        return turns

    def think(self, *jobs: Any, rounds: int = 2) -> int:
        """Do all idle work, for a week of daily plans."""
        return max(
            drain(self.contexts(), self.store, jobs or JOBS, self.clock, AT_ONCE, patience_s=1.0)
            for _ in range(rounds)
        )

    def every(self, kind: str = "", scope: str = "anna") -> list[Memory]:
        with self.store.snapshot() as snapshot:
            return list(snapshot.memories(scope, f"summary/{kind}"))

    def made(self, kind: str = "", scope: str = "anna") -> dict[str, Memory]:
        """Return the current summaries, by id without "summary/"."""
        found = current(self.every(kind, scope))
        return {memory.id.removeprefix("summary/"): memory for memory in found}

    def close(self) -> None:
        self.store.close()
