"""``slowcat-memory facts``, ``people``, ``timeline``, ``as-of``: what is known, and when it was true."""

from collections.abc import Sequence
from datetime import date, datetime, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from slowcat_memory.cli.shell import (
    NotFound,
    Settings,
    count,
    dots,
    last_moment,
    listed,
    nothing_in,
    out,
    print_entries,
    print_json,
    print_list,
    short,
    takes,
    when,
)

if TYPE_CHECKING:
    from slowcat_memory.core.graph.portrait import Portrait
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.engine.search import Graph
    from slowcat_memory.records import Memory

SHOWN = 6  # facts of a person in the list


@takes("limit", "user", "as_json")
def facts(
    known: Settings, *, type_: str | None = None, about: str | None = None, history: bool = False
) -> None:
    """Show the facts people stated about themselves and others, newest first.

    "turn" is the turn that says it: [bold]slowcat-memory show 17[/].

    Examples: [bold]slowcat-memory facts --about Max --history[/],
    [bold]slowcat-memory facts --type preference[/]

    Args:
        type_: Only this type: preference, work, …
        about (NAME): Only about this person or thing.
        history: Also facts that no longer hold.
    """
    with known.reading() as (engine, where):
        every = _facts(engine, where, history)
        found = [fact for fact in every if _fits(fact, type_, about)]

        def entry(fact: "Memory") -> Sequence[str | Text]:
            over, until = fact.retired_at is not None, fact.valid_to if history else None
            words = _over(_with_day(fact), until, engine.zone)
            about = dots(
                fact.kind.partition("/")[2].replace("_", " "),
                f"{fact.statement.confidence} confidence",
                "by you" if fact.made is None else "by an LLM" if fact.made.model else "by rule",
                f"turn {fact.sources[0]}" if fact.sources else "",
            )
            text = Text(words, style="dim" if over else "")
            return when(fact.valid_from, engine.zone)[:10], text, about

        def nothing() -> str:
            types = listed(sorted({fact.kind.partition("/")[2] for fact in every}), 9)
            asked = f"about {about}" if about else f"of type {type_}"
            none = "No facts found: `slowcat-memory idle` extracts those of turns not read yet."
            some = f"No facts {asked}; there are {count(len(every), 'fact')} of the types {types}."
            return nothing_in(engine, where, some if every else none)

        holds = sum(fact.retired_at is None for fact in found)
        note = f", {holds:,} of them still hold"
        print_list(known, found, entry, "fact", nothing, note=note)


def _facts(engine: "MemoryEngine", scope: str, history: bool) -> "list[Memory]":
    from slowcat_memory.core.disclosure import renamed
    from slowcat_memory.core.memory import FACT, QUARANTINED

    called = engine.reader(scope, local=True).called
    with engine.snapshot() as snapshot:
        kept = [
            renamed(fact, called)
            for fact in snapshot.memories(scope, f"{FACT}/")
            if fact.kind != QUARANTINED
            and (not fact.retired_at or (history and fact.facets.get("why") != "same"))
        ]
    return sorted(kept, key=lambda fact: (fact.valid_from, fact.id), reverse=True)


def _fits(fact: "Memory", type_: str | None, about: str | None) -> bool:
    from slowcat_memory.core.text.normalize import fingerprint

    if type_ and fact.kind.partition("/")[2] != type_.strip().lower():
        return False
    names = f" {fingerprint(fact.statement.subject)} {fingerprint(fact.text)} "
    return not about or f" {fingerprint(about)} " in names.replace("'s ", " ")


def _with_day(fact: "Memory") -> str:
    """Return a fact with its own day, for example "Anna has a dentist, Friday 6 November."."""
    text, days = short(fact.text), []
    written = list(filter(None, (fact.statement.date, fact.statement.last)))
    for one in written:
        try:
            day = date.fromisoformat(one)
        except ValueError:  # a month or a year
            days.append(one)
        else:
            weekday = "" if len(written) > 1 or f"{day:%A}" in text else f"{day:%A} "
            year = "" if day.year == fact.valid_from.year else f" {day.year}"
            if f"{day.day} {day:%B}" not in text:
                days.append(f"{weekday}{day.day} {day:%B}{year}")
    return f"{text.rstrip('.')}, {' to '.join(days)}." if days else text


def _over(text: str, until: datetime | None, zone: tzinfo) -> str:
    return f"{text.rstrip('.')}, until {_day(until, zone)}" if until else text


def _day(at: datetime | None, zone: tzinfo) -> str:
    """Return a day, for example "2024-05-12"; "" for None and for "always"."""
    from slowcat_memory.core.validity import ALWAYS

    return "" if at is None or at == ALWAYS else when(at, zone)[:10]


def _quoted(quote: str, turn: object, speaker: str = "") -> str:
    """Return the words that say a fact, and where they were said."""
    source = ", ".join(filter(None, (speaker, f"turn {turn}" if turn else "")))
    words = f"“{short(quote, 160)}”" if quote else ""
    return " ".join(filter(None, (words, f"({source})" if source else "")))


# ------------------------------------------------------------------- people


@takes("limit", "user", "as_json")
def people(known: Settings, name: str | None = None, *, all_: bool = False) -> None:
    """Show people and what is true of them; with a name, also what was true before, and the quotes.

    Idle work extracts this: [bold]slowcat-memory idle[/] does it now.

    Example: [bold]slowcat-memory people Clara[/]

    Args:
        name: Show this person in full.
        all_: Also places, things and topics.
    """
    with known.reading() as (engine, where):
        found = _graph(engine, where).portraits(name or "")
        if not (name or all_):
            found = [one for one in found if one.type in ("person", "pet")]
        if not name or known.as_json or not found:
            nobody = partial(_nobody, engine, where, name)
            return print_list(known, found, _person, "name", nobody)
        for one in found:
            also = f", also {listed(one.also)}" if one.also else ""
            out().print(Text.assemble((one.name, "bold"), f" ({one.type}{also})"))
            print_entries(_portrait(one, engine.zone))
    return None


def _graph(engine: "MemoryEngine", scope: str, **when: Any) -> "Graph":
    from slowcat_memory.engine import read_graph

    return read_graph(engine, scope, **when)


def _nobody(engine: "MemoryEngine", scope: str, name: str | None) -> str:
    """Return the message for an unknown name, or for a memory without people."""
    others = [one.name for one in _graph(engine, scope).portraits()]
    none = "No people are known yet: `slowcat-memory idle` extracts them."
    some = f"No {name} is known; known are {listed(others)}."
    some = f"Nothing is known of {name} yet." if name in others else some
    return nothing_in(engine, scope, some if name and others else none)


def _person(one: "Portrait") -> Sequence[str]:
    known = [f"{line.what} {line.value}" for line in one.holds]
    known += [f"{key} {value}" for key, value in one.attributes.items()]
    known += [f"{line.value}: {line.what} {one.name}" for line in one.others]
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return one.name, short("; ".join(known[:SHOWN])) + more, f"({one.type})"


def _portrait(one: "Portrait", zone: tzinfo) -> list[Sequence[str | Text]]:
    rows: list[Sequence[str | Text]] = [("", f"{key} {v}") for key, v in one.attributes.items()]
    for line in (*one.holds, *one.before, *one.others):
        words = f"{line.what} {line.value}"
        if line in one.others:
            words = f"{line.value} {line.what} {one.name}"
        text = Text(_over(words, line.until, zone), style="dim" if line in one.before else "")
        rows.append((_day(line.since, zone), text, _quoted(line.quote, line.turn)))
    return rows


# ------------------------------------------------------------------- timeline, as-of


@takes("limit", "user", "as_json")
def timeline(known: Settings, about: str) -> None:
    """Show what changed when about a person or thing, with the quotes.

    A name shows its facts with their dates; other words show the facts that contain them.

    Example: [bold]slowcat-memory timeline Anna[/]

    Args:
        about: A name, or a topic.
    """
    with known.reading() as (engine, where):
        found, nobody = _relations_of(engine, where, about), partial(_nobody, engine, where, about)
        entry = partial(_relation, engine, where)
        print_list(known, found, entry, "fact", nobody, latest_last=True)


def _relations_of(engine: "MemoryEngine", scope: str, about: str) -> "list[Memory]":
    """Return the relations of the people with this name, and those with these words."""
    from slowcat_memory.core.text.normalize import fold

    graph, wanted = _graph(engine, scope), set(fold(about).split())
    ids = {person.id for person in graph.names.find(about)}
    return [
        known
        for known in graph.relations
        if ids & {known.statement.subject, known.statement.object}
        or wanted <= set(fold(f"{known.text} {known.statement.quote}").replace(".", "").split())
    ]


def _relation(engine: "MemoryEngine", scope: str, relation: "Memory") -> Sequence[str | Text]:
    from slowcat_memory.core.graph.portrait import in_words

    words = in_words(relation, _graph(engine, scope).names)
    text = Text(
        _over(words, relation.valid_to, engine.zone), style="dim" if relation.valid_to else ""
    )
    turn = relation.sources[0] if relation.sources else ""
    source = _quoted(relation.statement.quote, turn, relation.speaker)
    return _day(relation.valid_from, engine.zone), text, source


@takes("limit", "user", "as_json")
def as_of(known: Settings, day: str, text: str | None = None, *, believed: bool = False) -> None:
    """Show what was true on a day; with --known, what was believed on that day.

    With a text, also shows the turns about it up to then.

    Example: [bold]slowcat-memory as-of 2025-11-15 "where does Clara live" --known[/]

    Args:
        day (DATE): A day or a minute, such as 2025-11-15; or words, such as yesterday.
        text: Only facts about this; all by default.
        believed (--known): Use what was believed then, not what is known now.
    """
    from slowcat_memory.core.extraction.evidence import shared

    with known.reading(words_only=False) as (engine, where):
        at = last_moment(day, engine.clock(), engine.zone, "DATE")
        true = _graph(engine, where, true=at, known=at if believed else None).relations
        if text:  # those that share a content word with it
            true = [one for one in true if shared(f"{one.text} {one.statement.quote}", text, "")]
        hits = engine.search(text, where, known.limit or 10, at=at, local=True).hits if text else []
        said = [hit.memory for hit in hits]
        if known.as_json:
            return print_json({"held": true, "said": said})
        if not true and not said:
            raise NotFound(nothing_in(engine, where, "Nothing is known about that time."))
        if true:
            heading = f"{'Believed' if believed else 'True'} on {_day(at, engine.zone)}"
            out().print(heading, style="bold")
            print_entries([_relation(engine, where, one) for one in true])
        if said:
            out().print("\nSaid until then", style="bold")
            print_entries(
                [
                    (_day(one.valid_from, engine.zone), f"{one.speaker}: {short(one.text)}")
                    for one in said
                ]
            )
    return None
