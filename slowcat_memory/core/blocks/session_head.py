"""The session preamble: lines in the LLM's system instruction, constant during a session.

All of it is enclosed by a fence and declared to be notes, never instructions. No memory can close
the fence: ``neutralise`` leaves no angle bracket.

The most stable lines come first, so that the LLM's prefix cache holds them from session to session.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Annotated, Literal

from msgspec import Meta, Struct

from slowcat_memory.core.blocks.block import BACKGROUND, HUMAN
from slowcat_memory.core.blocks.statements import coming_lines, is_of_another_day, is_ruled
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.language import Language, language_of
from slowcat_memory.core.memory import NOTE, findable
from slowcat_memory.core.render.attribution import attributed, stated
from slowcat_memory.core.render.head_blocks import (
    OPEN,
    PROFILE,
    block_lines,
    latest_blocks,
    shorten_to_chars,
    shorten_to_sentences,
    size,
)
from slowcat_memory.core.render.repeats import Told
from slowcat_memory.core.render.speech import full_date, long_ago
from slowcat_memory.core.text.normalize import fold, neutralise
from slowcat_memory.records import Disclosed, Memory

OF_AGENT = ("persona", "self_perception")  # blocks that speak to the agent
OPEN_NOTES, CLOSE_NOTES = "<notes>", "</notes>"


class HeadOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size and place of the session preamble.

    Attributes:
        mode: "auto" completes the LLM's system instruction with the preamble as a session starts;
            "off" leaves that to the application (``session_context``).
        head_chars: Most characters of the line about the user, blocks, the last session's summary
            and the icebreaker together. With the default the whole preamble, without what is
            pinned, has at most 300 tokens, which the LLM reads once a session.
        profile_chars: Most characters of the line about the user; 0 for no such line.
    """

    mode: Literal["auto", "off"] = "auto"
    head_chars: Annotated[int, Meta(ge=0, le=100_000)] = 880
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
    told = Told((start.user,))
    pinned = _pinned(start.memories, words)
    icebreaker = _icebreaker(start.icebreaker, words)
    for line in (*pinned[1:], *(row.text for row in (start.icebreaker,) if row and icebreaker)):
        told.add(line)
    profile = _profile(start, options.profile_chars, told, words)
    room = options.head_chars - sum(size(line) + 1 for line in (*profile, *icebreaker))
    blocks = latest_blocks(start.memories)
    texts = _texts(blocks, start.user, words)
    if BACKGROUND in texts and blocks[BACKGROUND].made is not None:
        texts[BACKGROUND] = _as_of(texts[BACKGROUND], start, zone, words)
    lines = block_lines(blocks, texts, room, told, words)
    room -= sum(size(line) + 1 for line in lines)
    lines = [*profile, *lines, *_last_session(start, zone, room, told, words), *pinned, *icebreaker]
    noted = words.preamble.noted.format(open=OPEN_NOTES, close=CLOSE_NOTES)
    return "\n".join((noted, OPEN_NOTES, *lines, CLOSE_NOTES)) if lines else ""


def _profile(start: SessionStart, room: int, told: Told, words: Language) -> list[str]:
    """Return a line about the user, without pinned memories: the preamble quotes them in full."""
    profiles = [m for m in start.memories if m.kind == PROFILE]
    profiles.sort(key=lambda m: (m.recorded_at or m.valid_from, m.id))
    notes = [m for m in start.memories if m.kind == NOTE and not m.pinned]
    notes.sort(key=lambda m: (-m.importance, -m.valid_from.timestamp(), m.id))
    facts: list[str] = []
    for memory in (*profiles[-1:], *notes):
        free = room - sum(map(len, facts))
        shortest = min(map(len, memory.text.rstrip(".").split("; ")))  # what of it may be kept
        fits = shortest <= free and (memory.kind == PROFILE or not is_of_another_day(memory))
        text = _undoubted(memory.text, start.user, words).rstrip(".") if fits else ""
        if text and len(text) <= free and not told.repeats(text):
            facts.append(text)
            told.add(text.replace("; ", ". "))
    if not facts:
        return []
    return [words.preamble.about.format(user=neutralise(start.user), facts="; ".join(facts))]


def _texts(blocks: Mapping[str, Memory], user: str, words: Language) -> dict[str, str]:
    """Return what blocks say; what somebody wrote by hand is left as it is."""
    texts = {
        label: _lines(block.text)
        if block.made is None
        else _said(block.text, user, words, of_agent=label in OF_AGENT)
        for label, block in blocks.items()
        if label in (HUMAN, BACKGROUND) or not is_ruled(block)  # others repeat sentences and moods
    }
    return {label: text for label, text in texts.items() if text}


def _as_of(text: str, start: SessionStart, zone: tzinfo, words: Language) -> str:
    """Return the background with what is near in time now: a day may be over since it was written."""
    dated = [line for line in text.splitlines() if line.startswith(OPEN)]
    near = coming_lines(start.memories, start.moment, zone, len(dated), words)
    kept = [line for line in text.splitlines() if not line.startswith(OPEN)]
    kept += [_said(memory.text, start.user, words) for memory in near]
    return "\n".join(filter(None, kept))


def _last_session(
    start: SessionStart, zone: tzinfo, room: int, told: Told, words: Language
) -> list[str]:
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
    if start.summary is not None and not is_ruled(start.summary):
        whole = _said(start.summary.text, start.user, words)
        new = told.news(whole)
        room -= size(words.preamble.last_time.format(summary="")) + 1
        shorten = shorten_to_chars if new == whole else shorten_to_sentences
        if summary := shorten(new, room):
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


def _said(text: str, user: str, words: Language, *, of_agent: bool = False) -> str:
    """Return derived text without orders and anybody's own words."""
    names = fold(user).split()
    lines = (stated(line, names, words, of_agent=of_agent) for line in text.splitlines())
    return _lines("\n".join(lines))


def _undoubted(text: str, user: str, words: Language) -> str:
    """Return the fields of a profile, or a note, without those that hold anything of an order."""
    fields = text.split("; ")
    return _lines("; ".join(field for field in fields if attributed(field, user, words) == field))


def _lines(text: str) -> str:
    return "\n".join(line for raw in text.splitlines() if (line := neutralise(raw).strip()))
