"""Episodes: the notable moments of a conversation, with their day; a limited number a day.

A window of turns becomes an episode if enough was said since the last one of its session, if it is
new compared to the last ones, and if the day's limit is not reached. A window that soon continues
the same matter is merged into the previous episode. Only the turns themselves are compared, never
the texts that were written about them, so that the same conversation has the same episodes.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, tzinfo

from msgspec import Struct

from slowcat_memory.core.blocks.options import EpisodesOptions
from slowcat_memory.core.extraction.prompt_record import small_talk
from slowcat_memory.core.memory import EPISODE
from slowcat_memory.core.summaries import by_rule as summaries_by_rule
from slowcat_memory.core.summaries.options import ExtractiveOptions
from slowcat_memory.core.time.periods import day_of
from slowcat_memory.records import Made, Memory, Turn

VERSION = 1
TEXT_WORDS = 45
MOST_TURNS = 80  # of an episode; each merge reads all of it again
Tokenize = Callable[[str], list[str]]


def windows(turns: Sequence[Turn], size: int, *, whole: bool) -> list[list[Turn]]:
    """Divide one session's turns into windows, each beginning with a user's turn.

    The last window waits until it is full, unless the session is over (``whole``).
    """
    made, one, own = list[list[Turn]](), list[Turn](), 0
    for turn in turns:
        if turn.role == "user" and own == size:
            made.append(one)
            one, own = [], 0
        if one or turn.role == "user":
            one.append(turn)
            own += turn.role == "user"
    if one and whole:
        made.append(one)
    return made


def is_substantial(window: Sequence[Turn], options: EpisodesOptions) -> bool:
    """Return whether the user says enough in a window, without small talk."""
    own = [t.text for t in window if t.role == "user" and not small_talk(t.text)]
    return sum(len(text.split()) for text in own) >= options.words


class Moment(Struct, frozen=True):
    """The turns of an episode, and the stems of what the user said in them."""

    turns: tuple[Turn, ...]
    words: frozenset[str]

    @property
    def first(self) -> Turn:
        return self.turns[0]

    @property
    def last(self) -> Turn:
        return self.turns[-1]

    def and_then(self, other: "Moment") -> "Moment":
        return Moment((*self.turns, *other.turns), self.words | other.words)


def moment_of(turns: Sequence[Turn], tokenize: Tokenize) -> Moment:
    own = (turn for turn in turns if turn.role == "user")
    return Moment(tuple(turns), frozenset(word for turn in own for word in tokenize(turn.text)))


def is_cooled_down(
    window: Moment, before: Moment | None, between: int, options: EpisodesOptions
) -> bool:
    """Return whether a window may be an episode, as far as the last one is concerned.

    Args:
        between: User turns of the session between the last episode and the window.
    """
    if before is None or before.last.session != window.first.session:
        return True
    rested = window.first.at - before.last.at >= timedelta(minutes=options.cooldown_min)
    return rested or between >= options.cooldown_turns


def continues(window: Moment, before: Moment | None, options: EpisodesOptions) -> bool:
    """Return whether a window continues the last episode's matter, within ``merge_h``."""
    if before is None or len(before.turns) + len(window.turns) > MOST_TURNS:
        return False
    soon = window.first.at - before.last.at <= timedelta(hours=options.merge_h)
    return soon and _shared(window.words, before.words) >= options.alike


def novelty(window: Moment, others: Iterable[Moment]) -> float:
    """Return the share of a window's words, 0 to 1, that none of the last episodes has."""
    known = frozenset[str]().union(*(one.words for one in others))
    return len(window.words - known) / len(window.words) if window.words else 0.0


def _shared(words: frozenset[str], others: frozenset[str]) -> float:
    """Return the intersection's share of the smaller set."""
    least = min(len(words), len(others))
    return len(words & others) / least if least else 0.0


def by_rule(window: Sequence[Turn], zone: tzinfo, tokenize: Tokenize) -> str:
    """Return what a window's facts and clauses say, or ""."""
    options = ExtractiveOptions(words=TEXT_WORDS, least=TEXT_WORDS)
    return summaries_by_rule.of_turns(window, zone, tokenize, options).text


def episode(
    moment: Sequence[Turn], text: str, merged: int, zone: tzinfo, now: datetime, made: Made
) -> Memory:
    """Return an episode as a memory, which recall ignores: it finds the turns themselves.

    Args:
        moment: All its turns.
        merged: How many windows were merged into the first.
    """
    first = moment[0]
    return Memory(
        id=f"{EPISODE}/{first.id}",
        kind=EPISODE,
        scope=first.scope,
        speaker=first.speaker,
        text=text,
        valid_from=first.at,
        recorded_at=now,
        sources=tuple(turn.id for turn in moment),
        trust="agent",
        facets={
            "day": day_of(first.at, zone).name,
            "until": moment[-1].at.isoformat(),
            "merged": str(merged),
        },
        made=made,
    )
