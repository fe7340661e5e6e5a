"""Facts as files: ``YYYY-MM-DD.json`` for each day on which they were said, and ``index.json``.

The index lists all facts, so readers need not open the other files. A fact is written completely,
so it can be imported again. If the importing log has no turn that says it, the fact keeps its turn
numbers as facets and has no source: only sources that can be looked up are claimed.
"""

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from slowcat_memory.core.extraction.checks.derived_text import has_link
from slowcat_memory.core.extraction.evidence import quoted
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.extraction.stated import read_parts
from slowcat_memory.core.facts.fact import fact_key, is_fact, type_of, why_transient
from slowcat_memory.core.memory import FACT
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.records import Made, Memory, Statement, Turn, WriteBatch
from slowcat_memory.runtime.conversation.audience import guest_scope
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine

Drafting = Callable[[Path, Path], AbstractContextManager[None]]
"""Gives a file, written in the block, its name at the end; see ``Store.drafting``."""

INDEX, VERSION = "index.json", 1
INDEX_CHARS = 80  # characters of a fact in the index
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_TYPE = re.compile(r"[a-z][a-z_]{1,29}")
_OWN = ("said_in", "said_at")


class FactRow(Statement, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A fact in a file; ``sources`` are turn numbers in the exporting log."""

    id: str
    scope: str
    type: str
    content: str
    source_date: datetime  # when it was said
    extracted_at: datetime
    valid_from: datetime
    speaker: str
    valid_to: datetime | None = None
    retired_at: datetime | None = None  # when it was superseded
    sources: tuple[int, ...] = ()
    trust: str = "user"  # "user" or "agent"
    importance: float = 0.5  # 0 to 1
    pinned: bool = False
    local_only: bool = False
    muted: bool = False
    facets: dict[str, str] = {}
    made: Made | None = None


# Fields that a memory and its row have alike.
_ALIKE = {*FactRow.__struct_fields__} & {*Memory.__struct_fields__} - {"sources", "facets"}


class _File(Struct, frozen=True, kw_only=True):
    """What is read of a file; each of its facts is checked by itself."""

    facts: list[Any]


class ImportedFacts(Struct):
    """The result of an import, in numbers of facts."""

    facts: int = 0
    known: int = 0  # facts that existed already
    refused: int = 0  # rows that are not valid facts or read like an instruction
    unproven: int = 0  # new facts without a turn in this log
    scopes: list[str] = []  # with new facts
    faults: list[str] = []  # files and rows that could not be read, each with the reason


def export_facts(
    snapshot: Snapshot,
    folder: Path,
    scopes: Iterable[str],
    zone: tzinfo,
    drafting: Drafting,
) -> int:
    """Write facts to a folder, by days of ``zone``.

    The folder is created if missing, readable by its owner only. An earlier export of the same
    scopes is replaced, so what was forgotten since does not stay in its files; facts of other
    scopes are kept. ``drafting`` is the store's: no unfinished file outlives a killed process.
    """
    chosen, before = set(scopes), _indexed(folder)
    days = defaultdict[str, list[FactRow]](list)
    for name in sorted(before):
        if others := [row for row in _read(folder / name, "", []) if row.scope not in chosen]:
            days[name.removesuffix(".json")] = others
    for scope in sorted(chosen):
        for one in snapshot.memories(scope, f"{FACT}/"):
            if is_fact(one):
                made = _row(one, snapshot)
                days[f"{made.source_date.astimezone(zone):%Y-%m-%d}"].append(made)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for day, rows in days.items():
        day_file = {"date": day, "facts": msgspec.to_builtins(rows)}
        _write(folder / f"{day}.json", day_file, drafting)
    for stale in before - {f"{day}.json" for day in days}:
        (folder / stale).unlink(missing_ok=True)
    _write(folder / INDEX, _index(days), drafting)
    return sum(row.scope in chosen for rows in days.values() for row in rows)


def _indexed(folder: Path) -> set[str]:
    """Return the names of the day files that a folder's index lists, none without an index."""
    try:
        facts = msgspec.json.decode((folder / INDEX).read_bytes(), type=_File).facts
        return {one["file"] for one in facts if _DAY.fullmatch(one["file"])}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _row(fact: Memory, snapshot: Snapshot) -> FactRow:
    facets = fact.facets
    turn = snapshot.turn(fact.sources[0]) if fact.sources else None
    elsewhere = facets.get("said_at", "")
    said = turn.at if turn else datetime.fromisoformat(elsewhere) if elsewhere else fact.valid_from
    numbers = tuple(int(n) for n in facets.get("said_in", "").split())
    return FactRow(
        **{name: getattr(fact, name) for name in _ALIKE},
        **asdict(fact.statement),
        type=type_of(fact),
        content=fact.text,
        source_date=said,
        extracted_at=fact.recorded_at or fact.valid_from,
        sources=fact.sources or numbers,
        facets={name: value for name, value in facets.items() if name not in _OWN},
    )


def _index(days: dict[str, list[FactRow]]) -> dict[str, Any]:
    every = [(day, row) for day in sorted(days) for row in days[day]]
    return {
        "version": VERSION,
        "types": dict(sorted(Counter(row.type for _, row in every).items())),
        "facts": [
            {
                "id": row.id,
                "scope": row.scope,
                "type": row.type,
                "subject": row.subject,
                "content": row.content[:INDEX_CHARS],
                "holds": row.retired_at is None,
                "file": f"{day}.json",
            }
            for day, row in every
        ],
    }


@contextmanager
def private_file(path: Path, drafting: Drafting) -> Iterator[IO[bytes]]:
    """Write a file, readable by its owner only, that has its name only once it is complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    with drafting(unfinished, path):
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())


def _write(path: Path, value: Any, drafting: Drafting) -> None:
    with private_file(path, drafting) as file:
        file.write(json.dumps(value, ensure_ascii=False, indent=1).encode())


def import_facts(engine: "MemoryEngine", folder: Path, scope: str = "") -> ImportedFacts:
    """Import facts from a folder; facts with known ids are not changed. Blocks.

    Args:
        scope: Their new scope; "" keeps each fact's own.

    Files and rows that cannot be read are left out, and named in the result; so are files that an
    existing index does not list.

    Raises:
        TranscriptError: There are no fact files.
        ConfigError: ``scope`` is no valid name, or is the guests'.
    """
    files = sorted(path for path in folder.glob("*.json") if _DAY.fullmatch(path.name))
    if not files:
        raise TranscriptError(f"{folder} contains no fact files (YYYY-MM-DD.json)")
    if scope:
        _check_keeps_facts(engine, scope)
    listed = _indexed(folder) or {path.name for path in files}
    done, rows = ImportedFacts(), defaultdict[str, list[FactRow]](list)
    for path in files:
        if path.name in listed:
            for row in _read(path, scope, done.faults):
                rows[row.scope].append(row)
        else:
            reason = f"left out (delete {INDEX} to read every file)"
            done.faults.append(f"{path.name} is not listed in {INDEX}: {reason}")
    for name, own in rows.items():
        try:
            _check_keeps_facts(engine, name)
        except ConfigError as error:
            done.faults.append(str(error))
        else:
            _import(engine, name, own, done)
    return done


def _check_keeps_facts(engine: "MemoryEngine", scope: str) -> None:
    if check_scope(scope) == guest_scope(engine.config.people):
        raise ConfigError(f"{scope!r} is the guests' scope, which keeps no facts")


def _read(path: Path, scope: str, faults: list[str]) -> list[FactRow]:
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=_File).facts
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError, RecursionError) as error:
        faults.append(f"{path.name} is not a fact file: {error}")
        return []
    rows, bad = list[FactRow](), list[str]()
    for number, one in enumerate(raw, start=1):
        try:
            row = msgspec.convert(one, FactRow)
            rows.append(replace(row, scope=scope) if scope else row)
        except msgspec.ValidationError as error:
            bad.append(f"fact {number}: {error}")
    what = path.name if rows else f"{path.name} is not a fact file"
    faults += [f"{what}: {one}" for one in bad]
    return rows


def _import(engine: "MemoryEngine", scope: str, rows: list[FactRow], done: ImportedFacts) -> None:
    put = list[Memory]()
    with engine.snapshot() as snapshot:
        said = _turns_at(snapshot, scope, {row.source_date for row in rows})
        for row in rows:
            if snapshot.memory(scope, row.id) is not None:
                done.known += 1
            elif not _is_valid(row):
                done.refused += 1
            else:
                put.append(_memory(row, snapshot, said))
    if put:
        keys = tuple(key for one in put if (key := fact_key(one)))
        engine.apply("import", WriteBatch(memories=tuple(put), keys=keys))
        done.facts += len(put)
        done.unproven += sum(not one.sources for one in put)
        done.scopes.append(scope)


def _is_valid(row: FactRow) -> bool:
    named = _TYPE.fullmatch(row.type) and row.type != "quarantined" and row.id.startswith("fact/")
    orders = why_transient(row.type, row.content) == "order" or injected(row.content)
    links = has_link(row.content) and row.predicate != "email"
    return bool(named and clean(row.content)[0]) and not orders and not links


def _turns_at(snapshot: Snapshot, scope: str, times: set[datetime]) -> dict[datetime, list[Turn]]:
    found = defaultdict[datetime, list[Turn]](list)
    for turn in snapshot.turns(scope):
        if turn.at in times:
            found[turn.at].append(turn)
    return found


def _memory(row: FactRow, snapshot: Snapshot, said: dict[datetime, list[Turn]]) -> Memory:
    """Return a row as a memory; its source is the same turn, or one of the same moment."""
    sources: tuple[int, ...] = ()
    if row.sources and _says(snapshot.turn(row.sources[0]), row):
        there = (snapshot.turn(id) for id in row.sources)
        sources = tuple(turn.id for turn in there if turn is not None and turn.scope == row.scope)
    else:
        sources = tuple(turn.id for turn in said.get(row.source_date, ()) if _says(turn, row))[:1]
    stated = read_parts(row, row.content)
    texts = {name: clean(one)[0] for name, one in asdict(stated).items() if isinstance(one, str)}
    elsewhere = {
        "said_in": " ".join(map(str, row.sources)),
        "said_at": row.source_date.isoformat(),
    }
    facets = row.facets if sources else elsewhere | row.facets
    return Memory(
        **{name: getattr(row, name) for name in _ALIKE - {"speaker"}},
        kind=f"{FACT}/{row.type}",
        speaker=clean(row.speaker)[0],
        text=clean(row.content)[0],
        recorded_at=row.extracted_at,
        sources=sources,
        statement=replace(stated, **texts),
        facets={name: clean(value)[0] for name, value in facets.items() if value},
    )


def _says(turn: Turn | None, row: FactRow) -> bool:
    if turn is None or turn.scope != row.scope or turn.role != "user":
        return False
    return turn.speaker == row.speaker and quoted(row.quote, turn.text)
