"""An LLM that repeats its input in every field of every job's answer; and an engine for idle work.

Nothing is invented, so that the jobs' grounding checks let as much through as possible: where a
word must not appear, no result may contain that word.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.idle import job_parts
from slowcat_memory.idle.job import Contexts, Job
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.providers import Prompt
from slowcat_memory.records import LedgerEntry, Offer, Turn
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from tests.support.idle_doubles import drain
from tests.support.rows import listed
from tests.support.sessions import session

MONDAY = datetime(2026, 5, 11, 9, tzinfo=UTC)
AT_ONCE = IdleOptions(grace_s=0.0, rest_s=1.0, backoff_s=1.0)
LINE = re.compile(r"^\[(\d+)\] ([^:]*): (.*)$", re.M)  # of a record
GRADED = re.compile(r"^(\d+)\. ", re.M)
# Knobs that make as much as possible of few turns.
MANY: dict[str, dict[str, Any]] = {
    "summaries": {"window": 3, "meta_windows": 2, "meta_turns": 4, "share": 1.0},
    "topics": {"least": 1},
    "episodes": {"window": 2, "words": 1},
    "merge": {"check_low": 0.05},
}  # fmt: skip


def parrot(prompt: Prompt) -> dict[str, Any]:
    """Answer a job's prompt with the words of its record."""
    said = [(int(n), who, text) for n, who, text in LINE.findall(prompt.user)]
    asked = _asked(prompt.user)
    wanted = [one for one in said if one[0] in asked] or said
    whole = " ".join(text for _, _, text in said)[:1500]
    match prompt.job:
        case "contextualize":
            return {
                "turns": [
                    {"turn": n, "context": f"{who}: {text}"[:500], "questions": [f"{text[:200]}?"],
                     "notes": [text[:500]]}
                    for n, who, text in wanted
                ][:32]
            }  # fmt: skip
        case "facts":
            kinds = ("person", "event", "open_thread", "preference")
            return {
                "facts": [
                    {"turn": n, "type": kinds[n % 4], "subject": who[:80], "content": text[:300],
                     "predicate": "knows" if n % 2 else "", "object": _names(f"{text} Someone")[0][:80],
                     "quote": text[:300], "confidence": "high"}
                    for n, who, text in wanted
                ][:40],
                "entities": [
                    {"name": name[:80], "type": "person"}
                    for _, who, text in wanted
                    for name in (who, *_names(text))
                ][:60],
            }  # fmt: skip
        case "merge":
            pairs = sorted({int(n) for n in GRADED.findall(prompt.user)})
            return {"pairs": [{"pair": n, "same_fact": False} for n in pairs]}
        case "rerank":
            lines = sorted({int(n) for n in GRADED.findall(prompt.user)})
            return {"grades": [{"line": n, "grade": 2 - n % 2} for n in lines][:12]}
        case "blocks":
            return {"lines": [text[:300] for _, _, text in said][:24]}
    lists = [text[:150] for _, _, text in said]
    return {
        "summary": whole, "topics": lists[:6], "entities": _names(whole)[:20], "tone": "calm",
        "relationship": whole[:300],
    }  # fmt: skip


def _asked(user: str) -> set[int]:
    found = re.findall(r"^Write .* of the turns (.*)\.$|^Write about the turns (.*)\.$", user, re.M)
    return {int(n) for pair in found for n in re.findall(r"\d+", "".join(pair))}


def _names(text: str) -> list[str]:
    """Return words that look like a name: with a capital or a digit."""
    return [word for word in re.findall(r"\w+", text) if re.search(r"[A-Z]\w{2}|\d", word)]


class Remote(ScriptedLLM):
    """The same on another machine."""

    remote = True


class Mind:
    """An engine, a clock that sleeping advances, and every built-in job."""

    def __init__(self, path: Path, llm: Any = None, jobs: Sequence[Job] = BUILT_IN) -> None:
        self.clock, self.path, self.llm, self.jobs = FixedClock(MONDAY), path, llm, jobs
        self.open()

    def open(self) -> None:
        config = memory_config(
            self.path, recall={"floor": 0.0, "deadline_ms": 1e4, "warn_ms": 1e4}, **MANY
        )
        self.engine = MemoryEngine(config, clock=self.clock, embedder=HashEmbedder())

    def close(self) -> None:
        self.engine.close()

    def talk(
        self, name: str, said: Iterable[str | tuple[str, ...]], *, scope: str = "anna",
        aside: Iterable[str] = (),
    ) -> list[Turn]:  # fmt: skip
        """Log a session of user and agent, a turn each half a minute."""
        made, asides = session(name, said, self.clock.now, step_s=30, scope=scope), set(aside)
        for place, event in enumerate(made):
            if isinstance(event, Turn):
                event = replace(event, aside=event.text in asides)
            made[place] = self.engine.append(event).event
        self.clock.advance(30 * len(made))
        self.engine.flush(indexed=True)
        return [event for event in made if isinstance(event, Turn)]

    def think(self, llm: Any = "own", days: float = 8.0) -> int:
        """Let time pass, then do all idle work; return how many tasks are left."""
        self.clock.advance(timedelta(days=days).total_seconds())
        return think(self.engine, self.clock, self.llm if llm == "own" else llm, self.jobs)


def think(
    engine: MemoryEngine, clock: FixedClock, llm: Any, jobs: Sequence[Job] = BUILT_IN,
    patience_s: float = 600.0,
) -> int:  # fmt: skip
    """Do all idle work on a clock that waiting advances; return how many tasks are left."""
    contexts = Contexts(job_parts(engine, engine.upkeep, llm))
    applied = engine.indexer.take
    try:
        return drain(contexts, jobs, clock, AT_ONCE, patience_s, on_applied=applied)
    finally:
        engine.flush(indexed=True)


# ------------------------------------------------------------------- the jobs that send prompts, and a ledger row for them

SAID = [(told, answered) for told, answered in listed("idle/said")]  # of which all jobs ask

ASKING = {
    *("contextualize", "facts", "merge", "session_summary", "window_summary"),
    *("rollups", "blocks", "rerank"),
}


def ledger(mind: Mind) -> None:
    """Let recall have weighed all that there is for every question."""
    with mind.engine.store.snapshot() as snapshot:
        turns = list(snapshot.turns("anna"))
    every = [Offer(memory=chunk_id(turn.id), score=0.5, probability=0.5) for turn in turns]
    for turn in turns:
        offers = tuple(one for one in every if one.memory != chunk_id(turn.id))
        mind.engine.store.write_ledger(
            LedgerEntry(turn=turn.id, scope="anna", session=turn.session, at=turn.at,
                        offers=offers[:12])
        )  # fmt: skip
