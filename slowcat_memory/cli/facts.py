"""What is known and when it was true, and how a person changes it.

``slowcat-memory facts``, ``people``, ``timeline`` and ``as-of``; ``remember``, ``mark``, ``forget``
and ``undo``.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from slowcat_memory.cli import shell
from slowcat_memory.cli.look import as_called, find_memory, present
from slowcat_memory.cli.shell import NotFound, Settings, err, print_entries, say, short, takes, when

if TYPE_CHECKING:
    from slowcat_memory.core.graph.portrait import Graph, Portrait
    from slowcat_memory.engine import MemoryEngine
    from slowcat_memory.records import CommandEntry, Forgotten, Memory

SHOWN = 6  # facts of a person in the list
SAMPLE = 8  # rows of turns, and rows of notes and facts, in a preview
READABLE = ("note", "fact", "icebreaker")  # kinds that are shown as they are
NAMED = (*READABLE, "summary", "episode", "block")  # kinds that are counted by name
LAST = 10  # voice commands listed
_ID = re.compile(r"[0-9]+|[a-z_]+/\S+")
_LIST = "`slowcat-memory undo --list` shows the latest and until when each can be"


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
    with known.opened() as (engine, where):
        every = _facts(engine, where, history)
        facts = [fact for fact in every if _fits(fact, type_, about)]

        def entry(fact: "Memory") -> Sequence[str | Text]:
            until = fact.valid_to if history else None
            words = _over(_with_day(fact, engine.config.memory.language), until, engine.zone)
            about = shell.dots(
                fact.kind.partition("/")[2].replace("_", " "),
                f"{fact.statement.confidence} confidence",
                "by you" if fact.made is None else "by an LLM" if fact.made.model else "by rule",
                f"turn {fact.sources[0]}" if fact.sources else "",
            )
            text = Text(words, style="dim" if fact.retired_at else "")
            return when(fact.valid_from, engine.zone)[:10], text, about

        def nothing() -> str:
            types = shell.listed(sorted({fact.kind.partition("/")[2] for fact in every}), 9)
            asked = f"about {about}" if about else f"of type {type_}"
            none = "No facts found: `slowcat-memory idle` extracts those of turns not read yet."
            much = shell.count(len(every), "fact")
            some = f"No facts {asked}; there are {much} of the types {types}."
            return shell.nothing_in(engine, where, some if every else none)

        note = f", {sum(fact.retired_at is None for fact in facts):,} of them still hold"
        shell.print_list(known, facts, entry, "fact", nothing, note=note)


def _facts(engine: "MemoryEngine", scope: str, history: bool) -> "list[Memory]":
    from slowcat_memory.core.memory import FACT, QUARANTINED

    with engine.snapshot() as snapshot:
        kept = [
            fact
            for fact in snapshot.memories(scope, f"{FACT}/")
            if fact.kind != QUARANTINED
            and (not fact.retired_at or (history and fact.facets.get("why") != "same"))
        ]
    return present(engine, sorted(kept, key=lambda fact: (fact.valid_from, fact.id), reverse=True))


def _fits(fact: "Memory", type_: str | None, about: str | None) -> bool:
    from slowcat_memory.core.text.normalize import fingerprint

    if type_ and fact.kind.partition("/")[2] != type_.strip().lower():
        return False
    names = f" {fingerprint(fact.statement.subject)} {fingerprint(fact.text)} "
    return not about or f" {fingerprint(about)} " in names.replace("'s ", " ")


def _with_day(fact: "Memory", language: str) -> str:
    """Return a fact with its own day, for example "Anna has a dentist, Friday 6 November."."""
    from slowcat_memory.core.language import language_of
    from slowcat_memory.core.render.speech import spoken_span

    text, statement, words = short(fact.text), fact.statement, language_of(language).dates
    days = spoken_span(statement.date, statement.last, text, fact.valid_from.year, words)
    return f"{text.rstrip('.')}, {days}." if days else text


def _over(text: str, until: datetime | None, zone: tzinfo) -> str:
    return f"{text.rstrip('.')}, until {_day(until, zone)}" if until else text


def _day(at: datetime | None, zone: tzinfo) -> str:
    """Return a day, for example "2024-05-12"; "" for None and for "always"."""
    from slowcat_memory.core.memory import ALWAYS

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
    with known.opened() as (engine, where):
        rows = _graph(engine, where).portraits(name or "")
        if not (name or all_):
            rows = [person for person in rows if person.type in ("person", "pet")]
        if not name or known.as_json or not rows:
            nobody = partial(_nobody, engine, where, name)
            return shell.print_list(known, rows, _person, "name", nobody)
        for person in rows:
            also = f", also {shell.listed(person.also)}" if person.also else ""
            shell.out().print(Text.assemble((person.name, "bold"), f" ({person.type}{also})"))
            print_entries(_portrait(person, engine.zone))


def _graph(engine: "MemoryEngine", scope: str, **when: Any) -> "Graph":
    from slowcat_memory.engine import read_graph

    return read_graph(engine, scope, **when)


def _nobody(engine: "MemoryEngine", scope: str, name: str | None) -> str:
    """Return the message for an unknown name, or for a memory without people."""
    others = [person.name for person in _graph(engine, scope).portraits()]
    none = "No people are known yet: `slowcat-memory idle` extracts them."
    some = f"No {name} is known; known are {shell.listed(others)}."
    some = f"Nothing is known of {name} yet." if name in others else some
    return shell.nothing_in(engine, scope, some if name and others else none)


def _person(person: "Portrait") -> Sequence[str]:
    known = [f"{line.what} {line.value}" for line in person.holds]
    known += [f"{key} {value}" for key, value in person.attributes.items()]
    known += [f"{line.value}: {line.what} {person.name}" for line in person.others]
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return person.name, short("; ".join(known[:SHOWN])) + more, f"({person.type})"


def _portrait(person: "Portrait", zone: tzinfo) -> list[Sequence[str | Text]]:
    rows: list[Sequence[str | Text]] = [("", f"{key} {v}") for key, v in person.attributes.items()]
    for line in (*person.holds, *person.before, *person.others):
        words = f"{line.what} {line.value}"
        if line in person.others:
            words = f"{line.value} {line.what} {person.name}"
        text = Text(_over(words, line.until, zone), style="dim" if line in person.before else "")
        rows.append((_day(line.since, zone), text, _quoted(line.quote, line.turn)))
    return rows


# ------------------------------------------------------------------- timeline, as-of


@takes("limit", "user", "as_json")
def timeline(known: Settings, about: list[str]) -> None:
    """Show what changed when about a person or thing, with the quotes.

    A name shows its facts with their dates; other words show the facts that contain them.

    Example: [bold]slowcat-memory timeline Anna[/]

    Args:
        about (ABOUT): A name, or a topic.
    """
    with known.opened() as (engine, where):
        graph, name = _graph(engine, where), " ".join(about)
        relations, nobody = _relations_of(graph, name), partial(_nobody, engine, where, name)
        entry = partial(_relation, graph, engine.zone)
        shell.print_list(known, relations, entry, "fact", nobody, latest_last=True)


def _relations_of(graph: "Graph", about: str) -> "list[Memory]":
    """Return the relations of the people with this name, and those with these words."""
    from slowcat_memory.core.text.normalize import fold

    wanted = set(fold(about).split())
    ids = {person.id for person in graph.find(about)}
    return [
        known
        for known in graph.relations
        if ids & {known.statement.subject, known.statement.object}
        or wanted <= set(fold(f"{known.text} {known.statement.quote}").replace(".", "").split())
    ]


def _relation(graph: "Graph", zone: tzinfo, relation: "Memory") -> Sequence[str | Text]:
    words = _over(graph.in_words(relation), relation.valid_to, zone)
    text = Text(words, style="dim" if relation.valid_to else "")
    quote, turn = relation.statement.quote, next(iter(relation.sources), "")
    return _day(relation.valid_from, zone), text, _quoted(quote, turn, relation.speaker)


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

    with known.opened(words_only=False) as (engine, where):
        at = shell.last_moment(day, engine.clock(), engine.zone, "DATE")
        graph = _graph(engine, where, true=at, known=at if believed else None)
        true = graph.relations
        if text:  # those that share a content word with it
            true = [row for row in true if shared(f"{row.text} {row.statement.quote}", text, "")]
        hits = engine.search(text, where, known.limit or 10, at=at, local=True).hits if text else []
        chunks = [hit.memory for hit in hits]
        if known.as_json:
            return shell.print_json({"held": true, "said": chunks})
        if not true and not chunks:
            raise NotFound(shell.nothing_in(engine, where, "Nothing is known about that time."))
        if true:
            heading = f"{'Believed' if believed else 'True'} on {_day(at, engine.zone)}"
            say(heading, "bold")
            print_entries([_relation(graph, engine.zone, fact) for fact in true])
        if chunks:
            say("\nSaid until then", "bold")
            print_entries(
                [(_day(m.valid_from, engine.zone), f"{m.speaker}: {short(m.text)}") for m in chunks]
            )


# ------------------------------------------------------------------- remember, mark


@takes("user", "as_json")
def remember(known: Settings, text: list[str], *, pin: bool = False, speaker: str = "") -> None:
    """Store a statement that was not said in a conversation.

    Pinned memories rank higher in recall, and [bold]session_context()[/] always includes them.

    Example: [bold]slowcat-memory remember "I am allergic to nuts." --pin[/]

    Args:
        text (TEXT): A statement, in any words.
        pin: Always include it.
        speaker: The person it is about; by default the user.
    """
    from slowcat_memory.core.text.normalize import clean

    words = " ".join(text)
    if not clean(words)[0]:
        raise shell.usage("the text is empty", "TEXT")

    where, people = known.scope(), known.people
    with known.engine() as memory:
        kept = memory.remember(words, where, speaker=speaker, pinned=pin)
    known.report(kept, f"Kept for {kept.scope} as {kept.id}.")
    if people and where not in people:
        shell.warn(f"{where} is new to this memory, which is that of {shell.listed(people)}.")


@takes("user", "as_json")
def mark(known: Settings, how: Literal["pin", "mute", "local", "off"], what: str) -> None:
    """Pin a memory, mute it, keep it on this machine; off removes its marks.

    A pinned memory is always included. A muted one is kept and listed, and never recalled or put
    into a prompt. A local one is never sent to an LLM on another machine.

    Examples: [bold]slowcat-memory mark pin 17[/], [bold]slowcat-memory mark off note/0a1b2c[/]

    Args:
        how (MARK): The mark.
        what (ID): A turn's number or a memory's id.
    """
    marks, words = {
        "pin": (("pinned",), "Pinned"),
        "mute": (("muted",), "Muted"),
        "local": (("local_only",), "Stays on this machine"),
        "off": (("pinned", "muted", "local_only"), "No longer marked"),
    }[how]
    with known.opened(readonly=False) as (memory, where):
        with memory.snapshot() as snapshot:
            row = find_memory(snapshot, where, shell.memory_id(what))
        given: Any = dict.fromkeys(marks, how != "off")
        changed = memory.edit(row.scope, row.id, **given) if row else None
    if changed is None:
        hint = "`slowcat-memory show --last 20` and `search` show the numbers and ids"
        raise NotFound(f"there is no memory {what!r} of {where}", hint=hint)
    known.report(changed, f"{words}:", short(changed.text))


@takes("user", "as_json", "yes")
def forget(
    known: Settings,
    what: list[str] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    speaker: str | None = None,
    session: str | None = None,
    everything: bool = False,
) -> None:
    """Delete for good: turns, everything derived from them, and their bytes on disk.

    Shows a preview and asks first. If several conditions are given, all must match; without
    --user, in everybody's memory. Times are dates such as 2024-05-12 or "2024-05-12 18:30", or
    words such as yesterday or "last week". Backups in the store's own folder still hold it, so they
    are deleted too; delete those elsewhere yourself.

    Examples: [bold]slowcat-memory forget 17[/], [bold]slowcat-memory forget "my doctor"[/],
    [bold]slowcat-memory forget --since yesterday[/],
    [bold]slowcat-memory forget --speaker Anna --since 2024-05-01 --until 2024-06-01[/],
    [bold]slowcat-memory --user anna forget --all[/]

    Args:
        what (WHAT): Turns' numbers and memories' ids; or words: all that mentions them.
        since: Said at or after this time.
        until: Said before this time.
        speaker: Said by this speaker.
        session: Said in this session.
        everything (--all): Everything of everybody, or of --user.
    """
    from slowcat_memory.records import Forget

    ids, about = what or [], ""
    known.existing()
    if not all(_ID.fullmatch(id_) for id_ in ids):
        ids, about = [], " ".join(ids)
    conditions = (*ids, since, until, speaker, session)
    if (about or everything) and any(conditions) or (about and everything):
        raise shell.usage("words and --all can only be combined with --user")
    if not (about.strip(" .,!?") or any(conditions) or everything):
        raise shell.usage(
            "say what: a turn's number, words, --since, --until, --speaker, --session, or --all"
        )
    where = known.scope() if known.user else ""
    with known.engine(words_only=True) as memory:
        now, zone = memory.clock(), memory.zone
        memories, turns = list(map(shell.memory_id, ids)), list[int]()
        if about:
            memories, turns = _mentioning(memory, about, where)
        order = Forget(
            memories=tuple(memories),
            turns=tuple(turns),
            since=shell.parse_time(since, now, zone, "--since"),
            until=shell.parse_time(until, now, zone, "--until"),
            speaker=speaker or "",
            session=session or "",
            scope=where,
            everything=everything,
        )
        # Words that match nothing give an order without a condition, which means everything.
        stated = any((*conditions, everything, turns, memories))
        preview = memory.forget(order, dry_run=True) if stated else None
        if preview is None or not (preview.turns or preview.memories or everything):
            hint = "`slowcat-memory show --last 20` shows the numbers of turns"
            if about:
                hint = f'Words must match: `slowcat-memory search "{about}"` also finds by meaning'
            raise NotFound("no match, so nothing was deleted", hint=hint)
        if not known.yes:
            _print_preview(memory, preview)
            known.confirm(_question(memory.config.folder))
        gone = memory.forget(order)
    return shell.print_json(gone) if known.as_json else _print_forgotten(gone)


def _mentioning(memory: "MemoryEngine", about: str, where: str) -> tuple[list[str], list[int]]:
    """Return the ids of all memories and turns that mention something, by words."""
    from slowcat_memory.core.commands.corrections import mentions
    from slowcat_memory.core.text.normalize import Tokenizer
    from slowcat_memory.runtime.commands.executor import mentioning

    test = mentions(about, Tokenizer(memory.config.memory.language))
    with memory.snapshot() as snapshot:
        scopes = [where] if where else snapshot.scopes()
        ids = [mentioning(snapshot, scope, test) for scope in scopes]
    return [id_ for part, _ in ids for id_ in part], [id_ for _, part in ids for id_ in part]


def _print_preview(memory: "MemoryEngine", preview: "Forgotten") -> None:
    """Print what would be deleted: the turns and notes as text, the rest in numbers."""
    readable = [key for key in preview.memories if _kind(key[1]) in READABLE]
    with memory.snapshot() as snapshot:
        turns = as_called(memory, map(snapshot.turn, preview.turns[:SAMPLE]))
        notes = [row for key in readable[:SAMPLE] if (row := snapshot.memory(*key))]
    several = len({key[0] for key in preview.memories}) > 1
    rows = [(turn.at, turn.text, turn.speaker, turn.scope) for turn in turns]
    rows += [(row.valid_from, row.text, _kind(row.id), row.scope) for row in present(memory, notes)]
    entries = [
        (when(at, memory.zone), short(text, 120), shell.dots(who, scope if several else ""))
        for at, text, who, scope in rows
    ]
    print_entries(entries, err())
    if more := len(preview.turns) - len(turns):
        say(f"… and {more:,} more", "dim", to=err())
    say(_amount(preview), "bold", to=err())
    if any(_kind(id_) == "block" for _, id_ in preview.memories):
        say("Blocks that mention it are written anew in idle time.", "dim", to=err())


def _question(folder: Path) -> str:
    """Return the question, which names the backups; warns of the files of damaged stores."""
    from slowcat_memory.store import backups_of, damaged_folders

    files, asked = backups_of(folder), "Delete this for good"
    if files:
        days = sorted({f"{backup.at:%Y-%m-%d}" for backup in files})
        span = " to ".join(dict.fromkeys((days[0], days[-1])))
        asked += f", and {shell.count(len(files), 'backup')} ({span})"
    if damaged := damaged_folders(folder):
        names = ", ".join(path.name for path in damaged)
        shell.warn(f"Files of a damaged store may hold it too, and are not deleted: {names}")
    return f"{asked}?"


def _print_forgotten(gone: "Forgotten") -> None:
    """Print what was deleted, and what is left on disk."""
    words = f"Forgotten: {_amount(gone)}"
    if gone.backups_deleted:
        words += f"; {shell.count(gone.backups_deleted, 'backup')} deleted"
    shell.done(f"{words}.")
    if gone.problems:
        shell.warn(
            f"Some bytes are not erased yet: {'; '.join(gone.problems)}. They are not shown any "
            "more, and are erased when the store is next opened for writing."
        )
    if gone.remains:
        shell.warn(f"Files of a damaged store may still hold it: {', '.join(gone.remains)}")


def _kind(id_: str) -> str:
    return id_.partition("/")[0]


def _amount(gone: "Forgotten") -> str:
    """Return for example "2 turns, 1 fact and 3 other derived records"."""
    kinds = Counter(_kind(id_) for _, id_ in gone.memories)
    others = sum(n for kind, n in kinds.items() if kind not in (*NAMED, "chunk"))
    parts = [shell.count(len(gone.turns), "turn")] if gone.turns else []
    parts += [shell.count(kinds[kind], kind) for kind in NAMED if kinds[kind]]
    parts += [shell.count(others, "other derived record")] if others else []
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else "nothing"


@takes("user", "as_json", "yes")
def undo(known: Settings, number: int | None = None, *, only_list: bool = False) -> None:
    """Undo a voice command, such as "forget that" or "remember that…".

    Forgotten memories come back, until they are erased for good (undo_s in the configuration).
    Corrected ones become current again; remembered ones are retired.

    Examples: [bold]slowcat-memory undo --list[/], [bold]slowcat-memory undo[/],
    [bold]slowcat-memory undo 7 --yes[/]

    Args:
        number (COMMAND): Its number; by default the latest.
        only_list (--list): Only show the latest voice commands.
    """
    from slowcat_memory.runtime.commands.undo_log import UNDOABLE

    with known.opened(readonly=False) as (engine, where):
        with engine.snapshot() as snapshot:
            every = snapshot.commands(where)
        if only_list:
            latest = every[:LAST]
            if known.as_json:
                return shell.print_json(latest)
            return _print_commands(engine, latest, shell.out())
        undoable = [row for row in every if row.state == "done" and row.kind in UNDOABLE]
        chosen = [row for row in undoable if number in (None, row.id)]
        if not chosen:
            if number is None and known.as_json:
                return shell.print_json(None)
            which = f"voice command {number} cannot be undone"
            raise NotFound(which if number else "there is nothing to undo", hint=_LIST)
        if not known.yes:
            _print_commands(engine, chosen[:1], err())
            known.confirm("Undo this?")
        undone = engine.undo(chosen[0])
    if undone is None:
        raise NotFound(f"voice command {chosen[0].id} cannot be undone", hint=_LIST)
    return known.report(undone, f"Undone: {undone.kind.replace('_', ' ')}.")


def _print_commands(
    memory: "MemoryEngine", commands: "Sequence[CommandEntry]", console: Any
) -> None:
    if not commands:
        return shell.warn("No voice commands so far.")
    rows = []
    with memory.snapshot() as snapshot:
        for row in commands:
            turn, kind = snapshot.turn(row.turn) if row.turn else None, row.kind.replace("_", " ")
            until = f"until {when(row.due, memory.zone)}" if row.due and row.state == "done" else ""
            about = shell.dots(kind, row.state, until, when(row.at, memory.zone))
            rows.append((str(row.id), short(turn.text) if turn else kind, about))
    print_entries(rows, console)
