"""Spoken replies to voice commands: one sentence each, in the user's language."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from slowcat_memory.core.language import Language
from slowcat_memory.core.render.memory_block import shorten
from slowcat_memory.core.render.speech import spoken_day
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.records import Disclosed

QUOTE_TOKENS = 30  # of a memory read aloud: some twenty words, ten seconds


def say(language: Language, name: str, **values: str) -> str:
    return language.replies[name].format(**values)


def quote(text: str, limit: int = QUOTE_TOKENS) -> str:
    """Return a user's words as one line without quotation marks and final punctuation."""
    line = neutralise(text).translate(str.maketrans("", "", '"“”„«»'))
    return shorten(line, limit).rstrip(" .!?,;:")


def counted(language: Language, count: int, what: str) -> str:
    """Return "1 thing" or "7 things": ``what`` is "thing", "fact" or "minute"."""
    return say(language, what) if count == 1 else say(language, f"{what}s", n=str(count))


def day(language: Language, at: datetime, now: datetime, zone: tzinfo) -> str:
    """Return "today", "yesterday", "on 12 May", or "on 12 May 2023" for another year."""
    then, today = at.astimezone(zone), now.astimezone(zone)
    days = (today.date() - then.date()).days
    if days in (0, 1):
        return (language.dates.today, language.dates.yesterday)[days]
    year = "" if then.year == today.year else f" {then.year}"
    return language.dates.on.format(spoken_day(then.date(), language.dates)) + year


def describe_known(language: Language, facts: Sequence[Disclosed], limit: int) -> str:
    """Return a sentence with the first ``limit`` facts about a user, and how many there are."""
    if not facts:
        return say(language, "know_nothing")
    items, count = _quoted(facts[:limit]), counted(language, len(facts), "fact")
    if len(facts) <= limit:
        return say(language, "know", facts=count, items=items)
    return say(language, "know_more", facts=count, items=items, more=str(len(facts) - limit))


def describe_topic(language: Language, about: str, facts: Sequence[Disclosed], limit: int) -> str:
    """Return a sentence with the first ``limit`` facts about a topic, and how many there are."""
    items, count = _quoted(facts[:limit]), counted(language, len(facts), "fact")
    return say(language, "know_about", facts=count, items=items, about=quote(about))


def describe_statements(language: Language, statements: Sequence[Disclosed], limit: int) -> str:
    """Return a sentence with the first ``limit`` of a user's statements, where there are no facts."""
    return say(language, "know_said", items=_quoted(statements[:limit]))


def _quoted(memories: Sequence[Disclosed]) -> str:
    return "; ".join(f"“{quote(memory.text)}”" for memory in memories)


def describe_sources(
    language: Language, memories: Sequence[Disclosed], limit: int, now: datetime, zone: tzinfo
) -> str:
    if not memories:
        return say(language, "why_nothing")
    items = [
        say(
            language,
            "why_note" if memory.kind == "note" else "why_item",
            when=day(language, memory.valid_from, now, zone),
            who=say(language, "i") if memory.role == "assistant" else neutralise(memory.speaker),
            text=quote(memory.text),
        )
        for memory in memories[:limit]
    ]
    return say(language, "why", items="; ".join(items))
