"""Who and what is known before a conversation, as prompts show it, and what a text takes from it.

"My start" in one conversation is the job of another: a prompt that reads turns lists the names that
were known *before* them, each with what it is, and the last conversation in a sentence. What a line
shows counts as said (see `ground_with`).
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo

from msgspec import Struct

from slowcat_memory.core.extraction.grounding import Ground, ground
from slowcat_memory.core.extraction.prompt_record import fenced
from slowcat_memory.core.language import words_of_any
from slowcat_memory.core.language.english.vocabulary import STOP_WORDS
from slowcat_memory.core.text.normalize import estimate_tokens, fingerprint, neutralise
from slowcat_memory.records import Turn

KNOWN_NAMES = 15
FACT_CHARS = 160  # of a known fact
KNOWN_TOKENS = 280  # most of all lines; what a prompt's size is planned with
# A date that was worked out names nobody.
_CALENDAR = words_of_any(
    lambda language: frozenset(map(str.lower, (*language.dates.months, *language.dates.weekdays)))
)


class KnownLine(Struct, frozen=True):
    """One name, or the last conversation.

    Attributes:
        text: "Hana: sister of Mira"; a sentence for the last conversation.
        name: The name, "" for the last conversation.
        said: When it was said.
        memory: Id of the memory that states it.
        sources: Log ids of the turns that state it.
    """

    text: str
    name: str
    said: datetime
    memory: str
    sources: tuple[int, ...]


class Known(Struct, frozen=True):
    """What is known before some turns.

    Attributes:
        names: The most relevant first.
        last: The last conversation.
        unshown: Names for which there is no room: they are no strangers, whatever else is in their
            lines; no prompt shows them.
    """

    names: tuple[KnownLine, ...] = ()
    last: KnownLine | None = None
    facts: tuple[KnownLine, ...] = ()
    unshown: tuple[KnownLine, ...] = ()

    @property
    def lines(self) -> tuple[KnownLine, ...]:
        return (*self.names, *([self.last] if self.last else ()), *self.facts)

    @property
    def memories(self) -> tuple[str, ...]:
        """Ids of the memories whose words are shown, for ``JobContext.ask``."""
        return tuple(dict.fromkeys(line.memory for line in self.lines))

    def with_facts(self, facts: Iterable[KnownLine]) -> "Known":
        """Return it with known facts, and without the names that these state."""
        shown = tuple(facts)
        gone = {line.text for line in shown}
        names = tuple(name for name in self.names if name.text not in gone)
        return Known(names, self.last, shown, self.unshown)


NOTHING_KNOWN = Known()


def limited(
    names: Iterable[KnownLine],
    last: KnownLine | None,
    unshown: tuple[KnownLine, ...],
    tokens: int = KNOWN_TOKENS,
) -> Known:
    """Return the first names that fit a number of tokens with the last conversation.

    No memory is shown twice.
    """
    last = last if last and estimate_tokens(last.text) + 12 <= tokens else None
    room = tokens - (estimate_tokens(last.text) + 12 if last else 0)
    kept = dict[str, KnownLine]()
    for name in names:
        if name.memory not in kept:
            room -= estimate_tokens(name.text) + 1
            if room < 0 or len(kept) == KNOWN_NAMES:
                break
            kept[name.memory] = name
    return Known(tuple(kept.values()), last, unshown=unshown)


def known_lines(known: Known, zone: tzinfo) -> list[str]:
    """Return the lines of a prompt; none if nothing is known."""
    lines = [f"- {neutralise(name.text)}" for name in known.names]
    if known.last:
        day = known.last.said.astimezone(zone).date()
        lines.append(f"Last conversation ({day.isoformat()}): {neutralise(known.last.text)}")
    lines = ["Known from before:", *lines] if lines else []
    if known.facts:
        lines.append("Known already:")
    for fact in known.facts:
        text = neutralise(fact.text)[:FACT_CHARS]
        lines.append(f"- {text} ({fact.said.astimezone(zone).date().isoformat()})")
    return lines


def prompt_about(
    turns: Sequence[Turn],
    asked: Iterable[int],
    zone: tzinfo,
    turn_chars: int,
    known: Known,
    request: str,
) -> str:
    """Return the user message about some turns of a conversation.

    The part before the request is the same for every call about the same turns, so that a local
    server processes it once.

    Args:
        turns: The visible part of the conversation, in order, at least one turn.
        asked: Log ids of the turns that are asked about.
        turn_chars: As in ``prompt_record.fenced``.
        known: What was known before the turns.
        request: The last words, with "{}" for the numbers.
    """
    numbers = ", ".join(map(str, asked))
    lines = (*known_lines(known, zone), fenced(turns, zone, turn_chars), request.format(numbers))
    return "\n".join(lines)


def ground_with(turns: Iterable[Turn], zone: tzinfo, known: Known) -> Ground:
    """Collect what a text about turns may contain: what they and the lines say, and known names."""
    names = (line.name for line in known.unshown)
    return ground(turns, zone, known=[*(line.text for line in known.lines), *names])


def sources_used(text: str, turns: Sequence[Turn], known: Known) -> tuple[int, ...]:
    """Return the log ids of the earlier turns without which a text could not name what it does."""
    every = (*known.lines, *known.unshown)
    if not every:
        return ()
    names = named_words(" ".join(f"{turn.speaker} {turn.text}" for turn in turns))
    missing = named_words(text) - names - _CALENDAR
    sources = dict[int, None]()
    for line in every:
        capitals = (word for word in line.text.split() if word[:1].isupper())
        if own := missing & named_words(line.name or " ".join(capitals)):
            sources |= dict.fromkeys(line.sources)
            missing -= own
    return tuple(sources)


def named_words(text: str) -> frozenset[str]:
    """Return the words of a text that may be parts of names, without a possessive ending."""
    words = fingerprint(text.replace("’", "'")).replace("'s ", " ").split()
    return frozenset(word.removesuffix("'s") for word in words if word not in STOP_WORDS)
