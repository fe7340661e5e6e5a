"""A user who talks to an agent day after day, and an idle loop that summarises: for tests."""

import re
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

from slowcat_memory.core.summaries.summary import current
from slowcat_memory.idle.jobs.options import SHARED_SECTION, SummariesOptions
from slowcat_memory.idle.registry import SUMMARIES
from slowcat_memory.providers import Prompt
from slowcat_memory.records import Memory
from slowcat_memory.testing import HashEmbedder
from tests.support import idle_doubles

MONDAY = datetime(2026, 5, 11, 9, tzinfo=UTC)
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


class House(idle_doubles.House):
    """The jobs that summarise, in the options of all of them."""

    def __init__(
        self, path: Path, llm: Any = None, *, zone: tzinfo = UTC, model: bool = False, **options: Any
    ) -> None:  # fmt: skip
        embedder = HashEmbedder()
        vectors = {"embed": embedder.encode_tokens, "space": lambda: embedder.key} if model else {}
        super().__init__(path, *JOBS, llm=llm, now=MONDAY, zone=zone, **vectors)
        self.options = dict.fromkeys(SHARED_SECTION, SummariesOptions(**options))

    def talk(
        self, session: str, *texts: str, at: datetime | None = None, end: bool = True
    ) -> list[int]:
        """Add turns, at a time or now, one each minute."""
        return self.say(*texts, session=session, at=at, ended=end, step_s=60, reason="silence")

    def think(self, *jobs: Any, rounds: int = 2) -> int:
        """Do all idle work, for a week of daily plans."""
        once = (
            super(House, self).think(*jobs, patience_s=1.0, **self.options) for _ in range(rounds)
        )
        return max(once)

    def made(self, kind: str = "") -> dict[str, Memory]:
        """Return the current summaries, by id without "summary/"."""
        found = current(self.memories(f"summary/{kind}"))
        return {memory.id.removeprefix("summary/"): memory for memory in found}
