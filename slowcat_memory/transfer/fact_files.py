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
from msgspec.structs import replace

from slowcat_memory.core.extraction.derived_text import has_link
from slowcat_memory.core.extraction.evidence import quoted
from slowcat_memory.core.extraction.prompt_injection import injected
from slowcat_memory.core.facts.fact import fact_key, is_fact, type_of, why_transient
from slowcat_memory.core.memory import FACT, QUARANTINED
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.errors import ConfigError, TranscriptError
from slowcat_memory.records import Memory, Turn, WriteBatch
from slowcat_memory.runtime.conversation.conversation import guest_scope
from slowcat_memory.runtime.namespaces.registry import check_scope
from slowcat_memory.store import Snapshot

if TYPE_CHECKING:
    from slowcat_memory.engine import MemoryEngine

Drafting = Callable[[Path, Path], AbstractContextManager[None]]
"""Gives a file, written in the block, its name at the end; see ``store.drafting``."""

INDEX, VERSION = "index.json", 1
INDEX_CHARS = 80  # characters of a fact in the index
_DAY = re.compile(r"\d{4}-\d\d-\d\d\.json")
_KIND = re.compile(FACT + r"/[a-z][a-z_]{1,29}")


class _File(Struct, frozen=True, kw_only=True):
    """What is read of a file; each of its facts is checked by itself."""

    facts: list[Any]


class _Checked(Struct, frozen=True, kw_only=True):
    """What a row has beside a memory's own fields; the content is its text."""

    content: str
    source_date: datetime  # when it was said


class _FactRow(Struct, frozen=True, kw_only=True):
    """A row of a file; its sources are turn numbers in the exporting log."""

    row: dict[str, Any]
    fact: Memory
    said: datetime


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
    days = defaultdict[str, list[dict[str, Any]]](list)
    for name in sorted(before):
        others = [row.row for row in _read(folder / name, "", []) if row.fact.scope not in chosen]
        if others:
            days[name.removesuffix(".json")] = others
    for scope in sorted(chosen):
        for fact in filter(is_fact, snapshot.memories(scope, f"{FACT}/")):
            row, at = _row(fact, snapshot)
            days[f"{at.astimezone(zone):%Y-%m-%d}"].append(row)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for day, rows in days.items():
        _write(folder / f"{day}.json", {"date": day, "facts": rows}, drafting)
    for stale in before - {f"{day}.json" for day in days}:
        (folder / stale).unlink(missing_ok=True)
    _write(folder / INDEX, _index(days), drafting)
    return sum(row["scope"] in chosen for rows in days.values() for row in rows)


def _indexed(folder: Path) -> set[str]:
    """Return the names of the day files that a folder's index lists, none without an index."""
    try:
        facts = msgspec.json.decode((folder / INDEX).read_bytes(), type=_File).facts
        return {row["file"] for row in facts if _DAY.fullmatch(row["file"])}
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def _row(fact: Memory, snapshot: Snapshot) -> tuple[dict[str, Any], datetime]:
    """Return a fact as a row, and when it was said."""
    facets = dict(fact.facets)
    numbers, elsewhere = facets.pop("said_in", ""), facets.pop("said_at", "")
    turn = snapshot.turn(fact.sources[0]) if fact.sources else None
    at = turn.at if turn else datetime.fromisoformat(elsewhere) if elsewhere else fact.valid_from
    sources = fact.sources or tuple(map(int, numbers.split()))
    stated = replace(fact.statement, subject_id="", object_id="")  # no names of another log
    row = msgspec.to_builtins(replace(fact, sources=sources, facets=facets, statement=stated))
    row |= {"type": type_of(fact), "content": row.pop("text"), "source_date": at.isoformat()}
    extracted = fact.recorded_at or fact.valid_from
    return row | {"confidence": stated.confidence, "extracted_at": extracted.isoformat()}, at


def _index(days: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    every = [(day, row) for day in sorted(days) for row in days[day]]
    return {
        "version": VERSION,
        "types": dict(sorted(Counter(row["type"] for _, row in every).items())),
        "facts": [
            {
                **{name: row[name] for name in ("id", "scope", "type")},
                "subject": row.get("statement", {}).get("subject", ""),
                "content": row["content"][:INDEX_CHARS],
                "holds": "retired_at" not in row,
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
    done, rows = ImportedFacts(), defaultdict[str, list[_FactRow]](list)
    for path in files:
        if path.name in listed:
            for row in _read(path, scope, done.faults):
                rows[row.fact.scope].append(row)
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


def _read(path: Path, scope: str, faults: list[str]) -> list[_FactRow]:
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=_File).facts
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError, RecursionError) as error:
        faults.append(f"{path.name} is not a fact file: {error}")
        return []
    rows, bad = list[_FactRow](), list[str]()
    for number, row in enumerate(raw, start=1):
        try:
            checked = msgspec.convert(row := _cleaned(row), _Checked)
            own: dict[str, Any] = {"type": "memory", "text": checked.content}
            fact = msgspec.convert(row | own | ({"scope": scope} if scope else {}), Memory)
            rows.append(_FactRow(row=row, fact=fact, said=checked.source_date))
        except msgspec.ValidationError as error:
            bad.append(f"fact {number}: {error}")
    what = path.name if rows else f"{path.name} is not a fact file"
    faults += [f"{what}: {fault}" for fault in bad]
    return rows


def _cleaned(value: Any) -> Any:
    """Return JSON with every text in it clean."""
    if isinstance(value, dict):
        return {name: _cleaned(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    return clean(value)[0] if isinstance(value, str) else value


def _import(engine: "MemoryEngine", scope: str, rows: list[_FactRow], done: ImportedFacts) -> None:
    put = list[Memory]()
    with engine.snapshot() as snapshot:
        times = {row.said for row in rows}
        then = [turn for turn in snapshot.turns(scope) if turn.at in times]
        for row in rows:
            if snapshot.memory(scope, row.fact.id) is not None:
                done.known += 1
            elif not _is_valid(row.fact):
                done.refused += 1
            else:
                put.append(_with_sources(row, snapshot, then))
    if put:
        keys = tuple(key for fact in put if (key := fact_key(fact)))
        engine.apply("import", WriteBatch(memories=tuple(put), keys=keys))
        done.facts += len(put)
        done.unproven += sum(not fact.sources for fact in put)
        done.scopes.append(scope)


def _is_valid(fact: Memory) -> bool:
    named = _KIND.fullmatch(fact.kind) and fact.id.startswith(f"{FACT}/")
    orders = why_transient(type_of(fact), fact.text) == "order" or injected(fact.text)
    links = has_link(fact.text) and fact.statement.predicate != "email"
    return bool(named and fact.text) and fact.kind != QUARANTINED and not orders and not links


def _with_sources(row: _FactRow, snapshot: Snapshot, then: list[Turn]) -> Memory:
    """Return a fact whose source is the same turn, or one of the same moment."""
    fact = row.fact
    turns = [
        turn for id in fact.sources if (turn := snapshot.turn(id)) and turn.scope == fact.scope
    ]
    if not (turns and turns[0].id == fact.sources[0] and _says(turns[0], fact)):
        turns = [turn for turn in then if turn.at == row.said and _says(turn, fact)][:1]
    elsewhere = {"said_in": " ".join(map(str, fact.sources)), "said_at": row.said.isoformat()}
    facets = fact.facets if turns else elsewhere | fact.facets
    facets = {name: value for name, value in facets.items() if value}
    return replace(fact, sources=tuple(turn.id for turn in turns), facets=facets)


def _says(turn: Turn, fact: Memory) -> bool:
    own = turn.role == "user" and turn.speaker == fact.speaker
    return own and quoted(fact.statement.quote, turn.text)
