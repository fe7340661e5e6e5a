"""What the memory says about itself: one sentence that can be read aloud, in a person's language."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from slowcat_memory.core.language import Phrases
from slowcat_memory.core.render.memory_block import shorten
from slowcat_memory.core.text.normalize import neutralise
from slowcat_memory.records import Memory

QUOTED = 30  # tokens of a memory that is read out: some twenty words, ten seconds


def say(known: Phrases, name: str, **what: str) -> str:
    """Fill in a sentence.

    Args:
        known: The language's table.
        name: Which sentence.
        **what: What to fill in.

    Returns:
        The sentence.
    """
    return known.says[name].format(**what)


def quote(text: str, limit: int = QUOTED) -> str:
    """Make a person's words fit to be read out inside a sentence.

    Args:
        text: The words.
        limit: Tokens to keep, estimated.

    Returns:
        One harmless line without quotation marks, or a stop at its end.
    """
    line = neutralise(text).translate(str.maketrans("", "", '"“”„«»'))
    return shorten(line, limit).rstrip(" .!?,;:")


def things(known: Phrases, count: int) -> str:
    """Say how many things.

    Args:
        known: The language's table.
        count: How many.

    Returns:
        "1 thing", "7 things".
    """
    return say(known, "thing") if count == 1 else say(known, "things", n=str(count))


def minutes(known: Phrases, seconds: float) -> str:
    """Say how long, in whole minutes.

    Args:
        known: The language's table.
        seconds: How long.

    Returns:
        "a minute", "5 minutes".
    """
    whole = max(1, int(seconds // 60))
    return say(known, "minute") if whole == 1 else say(known, "minutes", n=str(whole))


def day(known: Phrases, at: datetime, now: datetime, zone: tzinfo) -> str:
    """Say on which day something was.

    Args:
        known: The language's table.
        at: When it was.
        now: The time.
        zone: The person's time zone.

    Returns:
        "today", "on 12 May", "on 12 May 2023" for another year.
    """
    then, today = at.astimezone(zone), now.astimezone(zone)
    days = (today.date() - then.date()).days
    if days in (0, 1):
        return say(known, ("today", "yesterday")[days])
    month = known.months[then.month - 1]
    year = "" if then.year == today.year else f" {then.year}"
    return say(known, "on_day", day=str(then.day), month=month) + year


def known_things(known: Phrases, memories: Sequence[Memory], most: int, total: int) -> str:
    """Say what is known about a person.

    Args:
        known: The language's table.
        memories: The most important first.
        most: How many to read out.
        total: How many there are.

    Returns:
        A sentence.
    """
    items = "; ".join(f"“{quote(memory.text)}”" for memory in memories[:most])
    if not items:
        return say(known, "know_nothing")
    more = total - min(most, len(memories))
    if more <= 0:
        return say(known, "know", things=things(known, total), items=items)
    return say(known, "know_more", things=things(known, total), items=items, more=str(more))


def reasons(
    known: Phrases, memories: Sequence[Memory], most: int, now: datetime, zone: tzinfo
) -> str:
    """Say which memories an answer came from.

    Args:
        known: The language's table.
        memories: What was put before the LLM, the best first.
        most: How many to read out.
        now: The time.
        zone: The person's time zone.

    Returns:
        A sentence.
    """
    if not memories:
        return say(known, "why_nothing")
    items = [
        say(
            known,
            "why_note" if memory.kind == "note" else "why_item",
            when=day(known, memory.valid_from, now, zone),
            who=say(known, "i") if memory.role == "assistant" else neutralise(memory.speaker),
            text=quote(memory.text),
        )
        for memory in memories[:most]
    ]
    return say(known, "why", items="; ".join(items))
