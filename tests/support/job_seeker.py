"""Four weeks of a user who looks for work: the turns, and the results of earlier jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Memory, Statement, Turn, WriteBatch
from tests.support.memories import Look
from tests.support.rows import listed
from tests.support.sessions import hold

SCOPE, USER = "maya", "Maya"
BEGAN = datetime(2026, 5, 4, 18, tzinfo=UTC)
WEEK = timedelta(days=7)
OURS = ["episodes", "bring_up", "profile", "blocks"]
# What she says, and the agent's answers.
SESSIONS = tuple(tuple(map(tuple, listed("job_seeker", f"week {n}"))) for n in range(4))
SUMMARIES = listed("job_seeker", "summaries")
FACTS = listed("job_seeker", "facts")  # week, turn, kind, text, and what else is stated


def begin(week: int) -> datetime:
    """Return when the session of a week begins."""
    return BEGAN + week * WEEK


def say(engine: MemoryEngine, clock: Any, week: int) -> list[Turn]:
    """Log the session of a week, without a pipeline; set the clock to its end."""
    clock.now = begin(week)
    how = {"scope": SCOPE, "speaker": USER, "reason": "disconnect", "step_s": 20}
    ids = hold(engine, f"week-{week}", SESSIONS[week], clock.now, **how)
    clock.advance(20 * len(ids))
    engine.flush(indexed=True)
    return [Look(engine).turn(id_) for id_ in ids]


def note(engine: MemoryEngine, week: int) -> None:
    """Store other jobs' results for a week's session: its summary, and facts."""
    session = Look(engine.store).sessions(SCOPE)[week]
    turns = [t for t in Look(engine.store).turns(SCOPE) if t.session == session.id]
    own = [turn for turn in turns if turn.role == "user"]
    text, topics, tone, relationship = SUMMARIES[week]
    common: dict[str, Any] = {"scope": SCOPE, "speaker": USER, "recorded_at": session.ended}
    made = [
        Memory(
            id=f"summary/session/{session.id}", kind="summary/session", text=text,
            valid_from=session.started, sources=tuple(turn.id for turn in turns), **common,
            facets={"topics": topics, "tone": tone, "relationship": relationship},
        )
    ]  # fmt: skip
    for number, (at, turn, kind, text, *more) in enumerate(FACTS):
        if int(at) == week:
            said, facets = own[int(turn)], dict(one.split("=") for one in more)
            made.append(
                Memory(
                    id=f"fact/{number}", kind=kind, text=text, valid_from=said.at, **common,
                    sources=(said.id,), statement=Statement(confidence="high", **facets),
                )
            )  # fmt: skip
    engine.apply("by hand", WriteBatch(memories=tuple(made)))


def block_of(engine: MemoryEngine, label: str) -> str:
    found = [m for m in Look(engine.store).memories(SCOPE, f"block/{label}/") if not m.retired_at]
    assert len(found) <= 1, "one version holds"
    return found[0].text if found else ""
