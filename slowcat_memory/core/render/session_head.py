"""The session preamble: lines in the LLM's system instruction, constant during a session.

All of it is enclosed by a fence and declared to be notes, never instructions. No memory can close
the fence: ``neutralise`` leaves no angle bracket.

The most stable lines come first, so that the LLM's prefix cache holds them from session to session.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import Annotated

from msgspec import Meta, Struct

from slowcat_memory.core.extraction.checks.derived_text import keepable
from slowcat_memory.core.graph.relations import fold
from slowcat_memory.core.language import Language, language_of
from slowcat_memory.core.memory import BLOCK, FACT, NOTE, family, findable
from slowcat_memory.core.render.attribution import attributed
from slowcat_memory.core.render.speech import full_date, long_ago
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.records import Disclosed, Memory

# Order of blocks by label; any other comes after them.
BLOCKS = ("persona", "human", "relationship", "self_perception", "background_context")
# Order in which blocks are given room when it is short.
FIRST = ("persona", "human", "background_context", "relationship", "self_perception")
PROFILE_KINDS = frozenset({f"{FACT}/person", f"{FACT}/preference"})
_PROFILE = f"{BLOCK}/profile"  # source of the user line; it has no heading
_CUT = "..."
OPEN_NOTES, CLOSE_NOTES = "<notes>", "</notes>"


class HeadOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size of the session preamble.

    Attributes:
        head_chars: Most characters of blocks and the last session's summary together. The default
            is about 500 tokens, which the LLM reads once a session.
        profile_chars: Most characters of the line about the user; 0 for no such line.
    """

    head_chars: Annotated[int, Meta(ge=0, le=100_000)] = 2000
    profile_chars: Annotated[int, Meta(ge=0, le=10_000)] = 200


class SessionStart(Struct, frozen=True, kw_only=True):
    """Input of the preamble.

    Attributes:
        moment: When the session begins.
        talks: Number of sessions before it.
        last: When the last of them was active, None if there was none.
        summary: Summary of that one, None if there is none.
        memories: Valid memories of any kind.
        icebreaker: An icebreaker for the agent, or None.
        user: The user's name.
    """

    moment: datetime
    talks: int = 0
    last: datetime | None = None
    summary: Disclosed | None = None
    memories: Sequence[Disclosed] = ()
    icebreaker: Disclosed | None = None
    user: str = "User"


def session_preamble(
    start: SessionStart,
    zone: tzinfo,
    options: HeadOptions = HeadOptions(),
    language: str = "english",
) -> str:
    """Return the preamble, or "". Byte-stable: it reads no clock and sorts its input."""
    words = language_of(language)
    blocks = _blocks(start, options.head_chars, words)
    room = options.head_chars - sum(len(line) for line in blocks)
    lines = [
        *_profile(start, options.profile_chars, words),
        *blocks,
        *_last_session(start, zone, room, words),
        *_pinned(start.memories, words),
        *_icebreaker(start.icebreaker, words),
    ]
    return "\n".join(_fenced(lines, words)) if lines else ""


def _fenced(lines: Sequence[str], words: Language) -> list[str]:
    noted = words.preamble.noted.format(open=OPEN_NOTES, close=CLOSE_NOTES)
    return [noted, OPEN_NOTES, *lines, CLOSE_NOTES]


def _profile(start: SessionStart, room: int, words: Language) -> list[str]:
    """Return a line about the user, without pinned memories: the preamble quotes them in full."""
    profiles = [m for m in start.memories if m.kind == _PROFILE]
    profiles.sort(key=lambda m: (m.recorded_at or m.valid_from, m.id))
    stated = [m for m in start.memories if not m.pinned and not profiles and _is_profile(m)]
    notes = [m for m in start.memories if m.kind == NOTE and not m.pinned] + stated
    notes.sort(key=lambda m: (-m.importance, -m.valid_from.timestamp(), m.id))
    facts: list[str] = []
    for memory in (*profiles[-1:], *notes):
        text = _said(memory.text, start.user, words).rstrip(".")
        if text and sum(map(len, facts)) + len(text) <= room:
            facts.append(text)
    if not facts:
        return []
    return [words.preamble.about.format(user=neutralise(start.user), facts="; ".join(facts))]


def _is_profile(memory: Memory) -> bool:
    """Return whether a fact describes the user: lasting, certain, about the speaker."""
    facets = memory.facets
    own = fold(facets.get("subject", "")) == fold(memory.speaker)
    sure = facets.get("confidence") == "high" and memory.trust == "user"
    return memory.kind in PROFILE_KINDS and own and sure and memory.retired_at is None


def _blocks(start: SessionStart, room: int, words: Language) -> list[str]:
    latest: dict[str, Memory] = {}
    for memory in sorted(start.memories, key=lambda m: (m.recorded_at or m.valid_from, m.id)):
        if family(memory.kind) == BLOCK and memory.kind != _PROFILE and memory.text.strip():
            latest[memory.kind.partition("/")[2]] = memory
    texts: dict[str, str] = {}
    for label in _ranked(latest, FIRST):
        heading = words.preamble.headings.get(label)
        heading = heading or neutralise(label.replace("_", " ")).capitalize()
        if text := _block_text(latest[label], start.user, words):
            texts[label] = shorten_to_chars(f"{heading}: {text}", room)
            room -= len(texts[label])
    return [texts[label] for label in _ranked(texts, BLOCKS) if texts[label]]


def _block_text(block: Memory, user: str, words: Language) -> str:
    """Return the text of a block; what somebody wrote by hand is left as it is."""
    return _lines(block.text) if block.made is None else _said(block.text, user, words)


def _ranked(labels: Iterable[str], order: Sequence[str]) -> list[str]:
    return sorted(labels, key=lambda n: (order.index(n) if n in order else len(order), n))


def _last_session(start: SessionStart, zone: tzinfo, room: int, words: Language) -> list[str]:
    if not start.talks or start.last is None:
        return []
    day, today = start.last.astimezone(zone), start.moment.astimezone(zone)
    sentence = words.preamble.once if start.talks == 1 else words.preamble.times
    lines = [
        sentence.format(
            times=start.talks,
            date=full_date(day, zone, words.dates),
            ago=long_ago((today.date() - day.date()).days, words.dates),
            weekday=words.dates.weekdays[today.weekday()],
            today=full_date(today, zone, words.dates),
        )
    ]
    if start.summary is not None:
        told = _said(start.summary.text, start.user, words)
        if summary := shorten_to_chars(told, room):
            lines.append(words.preamble.last_time.format(summary=summary))
    return lines


def _pinned(memories: Iterable[Memory], words: Language) -> list[str]:
    pinned = sorted((m for m in memories if m.pinned and findable(m)), key=lambda m: m.id)
    lines = [f"- {neutralise(memory.speaker)}: {neutralise(memory.text)}" for memory in pinned]
    return [words.preamble.pinned, *lines] if lines else []


def _icebreaker(memory: Memory | None, words: Language) -> list[str]:
    if memory is None or not keepable(memory.text):
        return []
    return [words.preamble.icebreaker.format(text=neutralise(memory.text))]


def _said(text: str, user: str, words: Language) -> str:
    """Return derived text without orders, its doubtful sentences as the user's words."""
    return _lines("\n".join(attributed(line, user, words) for line in text.splitlines()))


def _lines(text: str) -> str:
    return "\n".join(line for raw in text.splitlines() if (line := neutralise(raw).strip()))


def shorten_to_chars(text: str, room: int) -> str:
    """Return a text, or its beginning and three dots; "" if not even a word fits."""
    if len(text) <= room:
        return text
    kept = text[: max(0, room - len(_CUT))].rstrip()
    return kept + _CUT if len(kept) > len(_CUT) else ""
