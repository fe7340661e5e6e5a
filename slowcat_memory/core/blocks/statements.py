"""Dated lines with sources, the input of blocks; what is near in time, and what is open."""

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.disclosure import is_uncertain, is_withheld
from slowcat_memory.core.extraction.derived_text import keepable
from slowcat_memory.core.extraction.grounding import Ground, ground
from slowcat_memory.core.extraction.prompt_record import between_fences
from slowcat_memory.core.extraction.slots import content
from slowcat_memory.core.facts.holding import claim_of
from slowcat_memory.core.language import ENGLISH, Language
from slowcat_memory.core.language.table import DateWords
from slowcat_memory.core.memory import SUMMARY, family, is_true
from slowcat_memory.core.render.speech import full_date, spoken_day
from slowcat_memory.core.text.normalize import fingerprint, neutralise
from slowcat_memory.core.time.calendar import in_zone
from slowcat_memory.core.time.expressions import possible_times
from slowcat_memory.core.time.written_dates import written_day
from slowcat_memory.records import Memory, Turn

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONFIDENCE = {"high": 0.3, "medium": 0.2, "low": 0.0}


class SourcedLine(Struct, frozen=True, kw_only=True):
    """A known statement as a line.

    Attributes:
        at: Since when it is true, or when it was said.
        sources: Log ids of the turns that state it.
        weight: Lines of less weight are dropped first when room is short.
        of: Id of the memory that states it, "" for a turn's own words.
        also: Ids of further memories that it was made from.
    """

    text: str
    at: datetime
    sources: tuple[int, ...] = ()
    weight: float = 0.5
    of: str = ""
    also: tuple[str, ...] = ()

    @classmethod
    def stated(cls, memory: Memory, text: str, weight: float = 0.5) -> "SourcedLine":
        """Return a memory's statement in some words."""
        of, at = memory.id, memory.valid_from
        return cls(text=text, at=at, sources=memory.sources, weight=weight, of=of)


def valid_of_kind(
    memories: Iterable[Memory], kind: str, now: datetime | None = None
) -> list[Memory]:
    """Return the valid memories of a kind that any LLM may see, oldest first.

    Quarantined, superseded, ended, local-only, muted and uncertain ones are omitted.

    Args:
        kind: A family ("fact"), or a whole kind ("fact/event").
        now: When they must hold, begun and not ended; None omits all that have an end.
    """
    rows = [
        m
        for m in memories
        if (m.kind == kind or m.kind.startswith(f"{kind}/"))
        and not (m.retired_at or is_withheld(m))
        and (m.valid_to is None if now is None else is_true(m, now))
        and m.kind != "fact/quarantined"
        and not is_uncertain(m)
    ]
    return sorted(rows, key=lambda m: (m.valid_from, m.id))


def is_ruled(memory: Memory) -> bool:
    """Return whether rules alone made a memory, which nobody pinned."""
    return memory.made is not None and not (memory.made.model or memory.pinned)


def to_lines(memories: Iterable[Memory]) -> list[SourcedLine]:
    """Convert facts or summaries to lines, without repetitions, in order.

    A user's own words weigh more than an agent's, and certain statements more than uncertain ones.
    """
    lines, seen = list[SourcedLine](), set[str]()
    for memory in memories:
        words = fingerprint(memory.text)
        if not words or words in seen:
            continue
        seen.add(words)
        sure = _CONFIDENCE[memory.statement.confidence]
        derived = 0.2 if family(memory.kind) == SUMMARY else 0.0
        weight = round(memory.importance + sure - derived + memory.pinned, 3)
        lines.append(SourcedLine.stated(memory, " ".join(memory.text.split()), weight))
    return lines


def fit(lines: Sequence[SourcedLine], chars: int) -> list[SourcedLine]:
    """Drop the lines of least weight (of equals, the oldest) until the rest fits, in order."""
    kept = {place: len(line.text) + 1 for place, line in enumerate(lines)}
    order = sorted(kept, key=lambda place: (lines[place].weight, lines[place].at, place))
    used = sum(kept.values()) - bool(kept)
    for place in order:
        if used <= chars:
            break
        used -= kept.pop(place)
    return [lines[place] for place in sorted(kept)]


def sources_of(lines: Iterable[SourcedLine]) -> tuple[int, ...]:
    """Return the distinct log ids of all sources, in order."""
    return tuple(sorted({turn for line in lines for turn in line.sources}))


def memories_of(lines: Iterable[SourcedLine]) -> tuple[str, ...]:
    """Return the distinct ids of the memories that lines were made from, in order."""
    return tuple(dict.fromkeys(id for line in lines for id in (line.of, *line.also) if id))


def record(lines: Sequence[SourcedLine], zone: tzinfo) -> str:
    """Return lines for a prompt: dated, unless true since ever, and numbered from 1, in a fence."""
    since = (f"{full_date(line.at, zone)}: " if line.at.year > 1 else "" for line in lines)
    return between_fences(
        f"[{n}] {day}{neutralise(line.text)}"
        for n, (line, day) in enumerate(zip(lines, since, strict=True), 1)
    )


def ground_of(lines: Sequence[SourcedLine], speakers: Sequence[str], zone: tzinfo) -> Ground:
    """Collect the names (with ``speakers``) and dates that a text made of lines may contain.

    A line that is true since ever is read as of the latest one.
    """
    who = " ".join(speakers)
    latest = max((line.at for line in lines if line.at.year > 1), default=EPOCH)
    days = (line.at if line.at.year > 1 else latest for line in lines)
    return ground(
        (
            Turn(session="", scope="", speaker=who, role="user", text=line.text, at=day)
            for line, day in zip(lines, days, strict=True)
        ),
        zone,
    )


THREAD, EVENT = "fact/open_thread", "fact/event"
DATED = frozenset((EVENT, "fact/plan", "fact/work", "fact/decision", "fact/health", THREAD))
AHEAD, BEHIND = timedelta(days=14), timedelta(days=2)
_OF_CLAUSES = frozenset("and before after und davor danach".split())
ARTICLES = (" the ", " a ", " dem ", " den ", " der ")
AHEAD_WEIGHT, OPEN_WEIGHT, PAST_WEIGHT = 1.4, 1.2, 0.6


def is_of_another_day(memory: Memory) -> bool:
    """Return whether a text means another day a week later: "tomorrow", "since yesterday"."""
    weeks = (memory.valid_from, memory.valid_from + timedelta(days=7))
    then, later = (possible_times(memory.text, at, UTC) for at in weeks)
    return bool(then) and set(then).isdisjoint(later)


def coming_lines(
    memories: Sequence[Memory], now: datetime, zone: tzinfo, most: int, language: Language = ENGLISH
) -> list[SourcedLine]:
    """Return lines "- …" on the next days, then on open matters, then on what has just been.

    A day that lies far ahead, and what was reported, called off or is over, has no line. Of what
    rules alone read, only a day ahead has one, if its words mean no other day later, or that day
    can stand in their place.
    """
    today = in_zone(now, zone).date()
    dated = _standing(memories, now)
    open_ = [m for m in dated if m.kind == THREAD and days_of(m) is None]
    past = [
        m
        for m in dated
        if m.kind == EVENT and (days := days_of(m)) and today - BEHIND <= days[1] < today
    ]
    weighed = (
        *((memory, AHEAD_WEIGHT) for memory in coming_facts(memories, now, zone)),
        *((memory, OPEN_WEIGHT) for memory in reversed(open_)),
        *((memory, PAST_WEIGHT) for memory in past),
    )
    dated_anew = ((_with_day(memory, language.dates), weight) for memory, weight in weighed)
    lines = [
        _line(memory, weight, zone, language)
        for memory, weight in dated_anew
        if not is_ruled(memory) or (weight == AHEAD_WEIGHT and _is_clear(memory))
    ]
    return lines[:most]


def _with_day(memory: Memory, words: DateWords) -> Memory:
    """Return a fact whose day stands in place of words that mean another one later ("tomorrow")."""
    days = days_of(memory)
    if not days or days[0] < days[1] or not is_of_another_day(memory):
        return memory
    span, *others = set(possible_times(memory.text, memory.valid_from, UTC))
    before, same, after = memory.text.partition(span.words)
    on = words.on.format("")
    if (
        others
        or not same
        or span.end - span.start != timedelta(days=1)
        or before.endswith(ARTICLES)
    ):
        return memory
    day = f"{on}{spoken_day(days[0], words)}"
    return replace(memory, text=f"{before.removesuffix(on)}{day}{after}")


def _is_clear(memory: Memory) -> bool:
    """Return whether rules read a plan to its end, with no other clause behind it."""
    words = memory.text.rstrip(".").split()
    clause = not _OF_CLAUSES.isdisjoint(words) or " '" in memory.text
    return not (clause or is_of_another_day(memory)) and bool(content(words[-1]))


def coming_facts(memories: Sequence[Memory], now: datetime, zone: tzinfo) -> list[Memory]:
    """Return what takes place today or within the next days, the nearest first."""
    today = in_zone(now, zone).date()
    near = [
        (days[0], m.id, m)
        for m in _standing(memories, now)
        if (days := days_of(m)) and days[1] >= today and days[0] <= today + AHEAD
    ]
    return [memory for _, _, memory in sorted(near, key=lambda row: row[:2])]


def may_have_line(row: Memory, now: datetime, zone: tzinfo) -> bool:
    """Return whether a fact's kind and day allow a line; the rest depends on its words."""
    days, today = days_of(row), in_zone(now, zone).date()
    if days is None:
        return row.kind == THREAD
    return row.kind in DATED and days[1] >= today - BEHIND and days[0] <= today + AHEAD


def _standing(memories: Sequence[Memory], now: datetime) -> list[Memory]:
    """Return the facts that may have a day, also those that hold only from that day on."""
    both = (valid_of_kind(memories, "fact", at) for at in (now, now + AHEAD))
    dated = {m.id: m for part in both for m in part if m.kind in DATED}
    told = (m for m in dated.values() if keepable(m.text) and not m.statement.reported)
    return [m for m in told if not claim_of(m).over]


def _line(memory: Memory, weight: float, zone: tzinfo, language: Language) -> SourcedLine:
    text = neutralise(memory.text).rstrip(".")
    days = days_of(memory)
    when = ""
    if days is None:
        when = full_date(memory.valid_from, zone, language.dates)
    elif len(memory.statement.date) < 10:
        when = f"{language.dates.months[days[0].month - 1]} {days[0].year}"
    elif spoken_day(days[0], language.dates) not in text:
        when = f"{spoken_day(days[0], language.dates)} {days[0].year}"
    return SourcedLine.stated(memory, f"- {text} ({when})" if when else f"- {text}", weight)


def days_of(memory: Memory) -> tuple[date, date] | None:
    """Return the first and last day of a fact's own date; None without one, or for a whole year."""
    written = written_day(memory.statement.date)
    if written is None or len(written.text) < len("2026-05"):
        return None
    until = written_day(memory.statement.last) if written.first == written.last else None
    return written.first, max(written.first, until.last) if until else written.last
