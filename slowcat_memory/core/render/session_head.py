"""What stays the same during a session: lines for the LLM's system instruction.

What changes least comes first, so that the LLM's prefix cache holds it from session to session.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.memory.kinds import BLOCK, FACT, NOTE, family, findable
from slowcat_memory.core.text.normalize import fold, neutralise
from slowcat_memory.records import Memory

NOTED = "What follows was noted after earlier conversations; it may be wrong."
# Headings of blocks, in order; any other block comes after them under its own name.
BLOCKS = {
    "persona": "Who you are",
    "human": "Who you talk to",
    "relationship": "How you know each other",
    "self_perception": "How you see yourself",
    "background_context": "What was going on lately",
}
PROFILE_KINDS = frozenset({f"{FACT}/person", f"{FACT}/preference"})
# Which of them have their room first, where it is short; any other comes after them.
FIRST = ("persona", "human", "background_context", "relationship", "self_perception")
_PROFILE = f"{BLOCK}/profile"  # it makes the line about the user, and has no heading
_CUT = "..."


class HeadOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the head of a session says.

    Attributes:
        head_chars: Room for blocks and the last session's summary together; what does not fit is
            cut. The default is about 500 tokens, which the LLM reads once a session.
        profile_chars: Room for the one line about the user, 0 for no such line.
    """

    head_chars: int = 2000
    profile_chars: int = 200


class Past(Struct, frozen=True, kw_only=True):
    """What is known when a session begins.

    Attributes:
        moment: When it begins.
        talks: How many sessions there were before.
        last: When the last of them was active, None when there was none.
        summary: What it was about, None when nobody wrote that down.
        memories: Memories that hold, of any kind.
        icebreaker: What the agent may bring up, None for nothing.
        user: What the user is called.
    """

    moment: datetime
    talks: int = 0
    last: datetime | None = None
    summary: Memory | None = None
    memories: Sequence[Memory] = ()
    icebreaker: Memory | None = None
    user: str = "User"


def head(past: Past, zone: tzinfo, options: HeadOptions = HeadOptions()) -> str:
    """Write the static head.

    Byte-stable for the same input: no clock, and an order of its own.

    Args:
        past: What is known.
        zone: The user's time zone.
        options: What to say.

    Returns:
        A few lines, "" when there is nothing to say.
    """
    blocks = _blocks(past.memories, options.head_chars)
    room = options.head_chars - sum(len(line) for line in blocks)
    return "\n".join(
        [
            *_profile(past, options.profile_chars),
            *blocks,
            *_last(past, zone, room),
            *_pinned(past.memories),
            *_icebreaker(past.icebreaker),
        ]
    )


def _profile(past: Past, room: int) -> list[str]:
    """Say in one line who the user is: by their profile, by notes, and by what they plainly said.

    What is pinned is said in full further on.
    """
    known = [m for m in past.memories if m.kind == _PROFILE]
    known.sort(key=lambda m: (m.recorded_at or m.valid_from, m.id))
    said_so = [m for m in past.memories if not m.pinned and not known and _is_profile(m)]
    notes = [m for m in past.memories if m.kind == NOTE and not m.pinned] + said_so
    notes.sort(key=lambda m: (-m.importance, -m.valid_from.timestamp(), m.id))
    said: list[str] = []
    for text in (neutralise(m.text).rstrip(".") for m in (*known[-1:], *notes)):
        if text and sum(map(len, said)) + len(text) <= room:
            said.append(text)
    return [f"About {neutralise(past.user)}: {'; '.join(said)}."] if said else []


def _is_profile(memory: Memory) -> bool:
    """Tell whether a fact says who the user is: a lasting one, surely said, of the speaker."""
    facets = memory.facets
    own = fold(facets.get("subject", "")) == fold(memory.speaker)
    sure = facets.get("confidence") == "high" and memory.trust == "user"
    return memory.kind in PROFILE_KINDS and own and sure and memory.retired_at is None


def _blocks(memories: Iterable[Memory], room: int) -> list[str]:
    latest: dict[str, Memory] = {}
    for memory in sorted(memories, key=lambda m: (m.recorded_at or m.valid_from, m.id)):
        if family(memory.kind) == BLOCK and memory.kind != _PROFILE and memory.text.strip():
            latest[memory.kind.partition("/")[2]] = memory
    said: dict[str, str] = {}
    for name in _ranked(latest, FIRST):
        heading = BLOCKS.get(name) or neutralise(name.replace("_", " ")).capitalize()
        said[name] = shortened(f"{heading}: {_lines(latest[name].text)}", room)
        room -= len(said[name])
    lines = [said[name] for name in _ranked(said, tuple(BLOCKS)) if said[name]]
    return [NOTED, *lines] if lines else []


def _ranked(names: Iterable[str], order: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda n: (order.index(n) if n in order else len(order), n))


def _last(past: Past, zone: tzinfo, room: int) -> list[str]:
    if not past.talks or past.last is None:
        return []
    day, today = past.last.astimezone(zone), past.moment.astimezone(zone)
    times = "once" if past.talks == 1 else f"{past.talks} times"
    ago = long_ago((today.date() - day.date()).days)
    lines = [
        f"You have talked {times} before, the last time on {day.day} {day:%B %Y}, {ago}; "
        f"today is {today:%A}, {today.day} {today:%B %Y}."
    ]
    if past.summary is not None and (told := shortened(_lines(past.summary.text), room)):
        lines.append(f"That time: {told}")
    return lines


def _pinned(memories: Iterable[Memory]) -> list[str]:
    pinned = sorted((m for m in memories if m.pinned and findable(m)), key=lambda m: m.id)
    lines = [f"- {neutralise(memory.speaker)}: {neutralise(memory.text)}" for memory in pinned]
    return ["You were asked to always keep in mind:", *lines] if lines else []


def _icebreaker(memory: Memory | None) -> list[str]:
    if memory is None:
        return []
    return [f"Bring this up once, in your own words, if it fits: {neutralise(memory.text)}"]


def _lines(text: str) -> str:
    return "\n".join(line for raw in text.splitlines() if (line := neutralise(raw).strip()))


def shortened(text: str, room: int) -> str:
    """Cut a text to so many characters.

    Args:
        text: The text.
        room: How many.

    Returns:
        The text, or its beginning and three dots; "" where not even a word would fit.
    """
    if len(text) <= room:
        return text
    kept = text[: max(0, room - len(_CUT))].rstrip()
    return kept + _CUT if len(kept) > len(_CUT) else ""


def long_ago(days: int) -> str:
    """Say how long ago a day was, in words that hold until the day is over.

    Args:
        days: How many days lie between; 0 for the same day.

    Returns:
        For example "yesterday", "3 days ago", "2 months ago".
    """
    if days <= 1:
        return ("earlier today", "yesterday")[max(0, days)]
    for limit, length, noun in ((14, 1, "days"), (60, 7, "weeks"), (730, 30, "months")):
        if days < limit:
            return f"{days // length} {noun} ago"
    return f"{days // 365} years ago"
