"""What blocks say without an LLM: lines from facts and summaries, and from telling words."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, tzinfo
from itertools import groupby

from msgspec import Struct

from slowcat_memory.core.blocks.statements import Statement, day, open_to, stated
from slowcat_memory.core.blocks.tone import tone_of
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.sentences import harmless, sentences
from slowcat_memory.core.render.session_head import shortened
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.records import Memory, Turn

THREAD, EVENT, SUMMARY = "fact/open_thread", "fact/event", "summary/session"
_PASSING = frozenset((THREAD, EVENT, "fact/task_completed"))  # not who somebody is
ADVICE_CHARS, LINE_CHARS, RECENT_CHARS = 160, 200, 300
ARC = 2.0  # weighs more than any single session
_ADVICE = re.compile(
    r"\b(?:i(?:'d|’d| would)? (?:suggest|recommend|advise)|my (?:advice|suggestion)|"
    r"you (?:could|might want to|should)|why don['’]t you|how about|it (?:may|might|could) help to|"
    r"make sure (?:you|to)|consider \w+ing|ich (?:würde|empfehle|rate)|du (?:könntest|solltest)|"
    r"versuch(?:e|s)?)\b"
    r"|^(?:try|prepare|practise|practice|write|bring|start|keep|focus)\b",
    re.IGNORECASE,
)


class Heard(Struct, frozen=True, kw_only=True):
    """A session, as far as blocks look.

    Attributes:
        at: When it began.
        turns: What was said, in order.
        summary: What it was about, None when nobody wrote that down.
    """

    at: datetime
    turns: Sequence[Turn] = ()
    summary: Memory | None = None

    @property
    def tone(self) -> str:
        """How the user sounded, "" when nothing tells."""
        told = self.summary.facets.get("tone", "") if self.summary else ""
        return told or tone_of(turn.text for turn in self.turns if turn.role == "user")


def human(memories: Iterable[Memory]) -> list[Statement]:
    """Say who the user is: what holds of them, and is no passing matter.

    Args:
        memories: Of the namespace.

    Returns:
        Facts, then relations that say something else, the oldest first.
    """
    known = list(memories)
    facts = [m for m in open_to(known, "fact") if m.kind not in _PASSING]
    found = stated([*facts, *open_to(known, "relation")])
    return sorted((one for one in found if harmless(one.text)), key=lambda one: one.at)


def relationship(sessions: Sequence[Heard], zone: tzinfo) -> list[Statement]:
    """Say how the user's tone went, session by session, and what the two made of each other.

    Args:
        sessions: The earliest first.
        zone: The user's time zone.

    Returns:
        The arc first, dated; then what summaries say of the relationship, the latest weighing most.
    """
    arc = [(heard, heard.tone) for heard in sessions]
    steps = [next(group) for _, group in groupby((s for s in arc if s[1]), key=lambda s: s[1])]
    made = list[Statement]()
    if steps:
        going = " to ".join(f"{tone} ({day(heard.at, zone)})" for heard, tone in steps[-4:])
        text = f"Their tone went from {going}." if len(steps) > 1 else f"Their tone: {going}."
        told = tuple(turn.id for heard, _ in steps[-4:] for turn in heard.turns)
        sources = told or tuple(i for h, _ in steps[-4:] if h.summary for i in h.summary.sources)
        made.append(Statement(text=text, at=steps[-1][0].at, sources=sources, weight=ARC))
    for place, heard in enumerate(sessions):
        said = heard.summary.facets.get("relationship", "") if heard.summary else ""
        if said and heard.summary and harmless(said):
            text = f"{day(heard.at, zone)}: {shortened(neutralise(said), LINE_CHARS)}"
            made.append(
                Statement(
                    text=text,
                    at=heard.at,
                    sources=heard.summary.sources,
                    weight=place / len(sessions),
                )
            )
    return made


def advice(sessions: Iterable[Heard], zone: tzinfo) -> list[Statement]:
    """Say what the agent advised, so that it stays by it, or says that it thinks otherwise now.

    Args:
        sessions: The earliest first.
        zone: The user's time zone.

    Returns:
        A line for each sentence with a telling word; later ones weigh more.
    """
    made = list[Statement]()
    for turn in (turn for heard in sessions for turn in heard.turns if turn.role == "assistant"):
        for sentence in sentences(turn.text):
            if _ADVICE.search(sentence) and not sentence.endswith("?") and harmless(sentence):
                said = shortened(neutralise(sentence), ADVICE_CHARS)
                text = f"On {day(turn.at, zone)} you advised: {said}"
                weight = float(len(made))
                made.append(Statement(text=text, at=turn.at, sources=(turn.id,), weight=weight))
    return made


def background(
    memories: Iterable[Memory],
    sessions: Sequence[Heard],
    now: datetime,
    zone: tzinfo,
    *,
    topics_h: float,
    threads: int,
) -> list[Statement]:
    """Say what was going on lately: the last session, the topics of a day, and what is open.

    Args:
        memories: Of the namespace.
        sessions: The earliest first.
        now: The time.
        zone: The user's time zone.
        topics_h: Hours back from which topics count.
        threads: How many open matters, the latest.

    Returns:
        Lines "Recent: …", "Active topics: a, b", "- …", in this order of weight.
    """
    known = list(memories)
    summaries = open_to(known, SUMMARY) or [h.summary for h in sessions if h.summary]
    made = list[Statement]()
    summaries = [one for one in summaries if not injected(one.text)]
    if summaries:
        last = summaries[-1]
        text = f"Recent: {shortened(neutralise(last.text), RECENT_CHARS)}"
        made.append(Statement(text=text, at=last.valid_from, sources=last.sources, weight=3.0))
    since = now - timedelta(hours=topics_h)
    fresh = [one for one in summaries if one.valid_from >= since]
    topics = dict.fromkeys(
        neutralise(topic.strip())
        for one in reversed(fresh)
        for topic in one.facets.get("topics", "").split(";")
        if topic.strip()
    )
    if topics:
        sources = tuple(turn for one in fresh for turn in one.sources)
        text = f"Active topics: {', '.join(topics)}"
        made.append(Statement(text=text, at=now, sources=sources, weight=2.0))
    facts = [m for m in known if m.kind in (THREAD, EVENT) and harmless(m.text)]
    open_ = [m for m in open_to(facts, "fact") if m.kind == THREAD or _ahead(m, now)]
    for memory in open_[-threads:] if threads else []:
        text = f"- {neutralise(memory.text).rstrip('.')} ({_when(memory, zone)})"
        made.append(Statement(text=text, at=memory.valid_from, sources=memory.sources, weight=1.0))
    return made


def _ahead(memory: Memory, now: datetime) -> bool:
    """Tell whether an event lies ahead, or was lately."""
    return memory.valid_from >= now - timedelta(days=7)


def _when(memory: Memory, zone: tzinfo) -> str:
    return memory.facets.get("date") or day(memory.valid_from, zone)
