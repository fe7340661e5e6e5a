"""Checks that import loses, doubles, leaks and revives nothing, over random transcripts.

A trip: a random file (people who share session names and small talk, names in other scripts, bad
lines between) is imported by a process that is killed at random moments, until one comes to its
end; the file grows, with ids that begin anew, and is imported again; a speaker is forgotten, and
the file, grown once more, is imported again; the log is exported and imported into a new memory.
After each step the log of every scope must hold exactly what it should.

Controls, which the law must catch: ``name`` knows a session by its name alone, ``forgotten``
imports what was forgotten.
"""

import json
import os
import random
import shutil
from collections import Counter, defaultdict
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import Any

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.store import Snapshot, Store
from slowcat_memory.testing import memory_config
from slowcat_memory.transfer import import_
from slowcat_memory.transfer.formats.rows import export
from slowcat_memory.transfer.reading import FileReadings, Options
from tests.harness.children import Child
from tests.harness.command import Harness, around, main
from tests.support.rows import listed_texts

SCOPES = ("anna", "ben", "cleo")
SPEAKERS = ("Anna", "Ben", "Анна", "李雷")
SMALL_TALK = ("ok", "Hello", "Good morning.", "Thank you.")
BAD = listed_texts("bad_import_lines")

Log = dict[str, Counter[str]]  # texts by scope


class Author:
    """Writes a transcript that grows, and knows what of it should be in the log."""

    def __init__(self, path: Path, random_: random.Random) -> None:
        self.path, self._random = path, random_
        self._ids: dict[tuple[str, str], int] = defaultdict(int)
        self._said = 0
        self.rows: list[dict[str, Any]] = []
        self.path.write_text("")

    def grow(self, n: int) -> None:
        """Add turns to old and new sessions; each session's ids begin anew."""
        self._ids.clear()
        with self.path.open("a", encoding="utf-8") as file:
            for _ in range(n):
                if self._random.random() < 0.1:
                    file.write(self._random.choice(BAD) + "\n")
                row = self._row()
                self.rows.append(row)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _row(self) -> dict[str, Any]:
        scope, session = self._random.choice(SCOPES), str(self._random.randint(1, 4))
        self._ids[scope, session] += 1
        self._said += 1
        small = self._random.random() < 0.3
        row = {
            "scope": scope,
            "session": session,
            "id": str(self._ids[scope, session]),
            "speaker": self._random.choice(SPEAKERS),
            "text": self._random.choice(SMALL_TALK) if small else f"Sentence {self._said}.",
        }
        if self._random.random() < 0.5:
            row["at"] = f"2024-05-{self._random.randint(1, 28):02}T18:30:00+00:00"
        return row

    def expected(self, forgotten: dict[str, int]) -> Log:
        """Return the texts by scope, without a speaker's rows before a position."""
        found: Log = defaultdict(Counter)
        for place, row in enumerate(self.rows):
            if place >= forgotten.get(row["speaker"], 0):
                found[row["scope"]][row["text"]] += 1
        return found


def play(folder: Path, seed: int, *, kills: bool = True) -> list[str]:
    """Make one trip; return what was wrong, by step."""
    random_ = random.Random(seed)
    author, wrong = Author(folder / "chat.jsonl", random_), list[str]()
    author.grow(random_.randint(5, 40))
    for _ in range(random_.randint(0, 2) if kills else 0):
        child = Child(lambda into: _work(folder / "memory", author.path, into))
        child.kill_after(random_.randint(1, 8), random_.uniform(0, 0.004))  # transactions
    with _engine(folder / "memory") as engine:
        wrong += _import(engine, author, {}, "import")
        author.grow(random_.randint(1, 20))
        wrong += _import(engine, author, {}, "grown")
        wrong += _import(engine, author, {}, "again")
        gone = {random_.choice(SPEAKERS): len(author.rows)}
        engine.forget(Forget(speaker=next(iter(gone))))
        wrong += _import(engine, author, gone, "forgotten")
        author.grow(random_.randint(1, 20))
        wrong += _import(engine, author, gone, "forgotten and grown")
        exported = [json.dumps(row) for row in export(engine.snapshot)]
    author.path.with_name("export.jsonl").write_text("\n".join(exported))
    with _engine(folder / "other") as engine:
        author.path = author.path.with_name("export.jsonl")
        for step in ("exported", "exported twice"):
            wrong += _import(engine, author, gone, step)
    return wrong


def _work(store: Path, file: Path, into: int) -> None:
    def reported(append_all: Any, *given: Any, **named: Any) -> Any:
        os.write(into, b".")
        return append_all(*given, **named)

    with _engine(store) as engine, around(Store, "append_all", reported):
        import_file(engine, file, on_error=lambda error: None)


def import_file(
    memory: MemoryEngine, path: Path, *, on_error: Any, **where: Any
) -> import_.Imported:
    """Import a file as the command line does."""
    done, options = import_.Imported(), Options(scoped="scope" not in where, zone=memory.zone)
    for reading in FileReadings(path, options, on_error, on_error):
        for error in reading.faults:
            on_error(error)
        import_.import_reading(memory, reading, import_.Where(**where), done, on_error=on_error)
    return done


def _engine(store: Path) -> AbstractContextManager[MemoryEngine]:
    return closing(MemoryEngine(memory_config(store)))


def _import(
    engine: MemoryEngine, author: Author, forgotten: dict[str, int], step: str
) -> list[str]:
    import_file(engine, author.path, on_error=lambda error: None)
    with engine.snapshot() as snapshot:
        found = {scope: Counter(t.text for t in snapshot.turns(scope)) for scope in SCOPES}
        sessions = {row.id: row.scope for row in snapshot.sessions()}
        strays = sum(sessions.get(t.session) != t.scope for t in snapshot.turns())
    expected = author.expected(forgotten)
    lost = sum(((expected[s] - found[s]).total() for s in SCOPES), 0)
    more = sum(((found[s] - expected[s]).total() for s in SCOPES), 0)
    faults = {"lost": lost, "doubled, leaked or undead": more, "in another's session": strays}
    return [f"{step}: {n} {what}" for what, n in faults.items() if n]


def broken(control: str) -> Any:
    """Plant a fault."""

    def by_name(find: Any, log: Any, snapshot: Snapshot, session: Any, times: Any) -> import_.Match:
        row = snapshot.session(session.id)
        new = () if row else range(len(session.utterances))
        keys = [session.id] * len(session.utterances)
        return import_.Match(id=session.id, row=row, keys=keys, imported=(), logged={}, new=new)

    if control == "name":
        return around(import_.Log, "match", by_name)
    return around(Snapshot, "cursor", lambda real, snapshot, name: None)


def run(
    folder: Path, transcripts: int, seed: int, control: str, kills: bool = True
) -> dict[str, Any]:
    """Make trips; return what was wrong, with the trip's seed."""
    faults = list[str]()
    for number in range(seed * 100_000, seed * 100_000 + transcripts):
        (folder / str(number)).mkdir()
        with broken(control) if control else nullcontext():
            wrong = play(folder / str(number), number, kills=kills)
        faults += [f"trip {number}: {one}" for one in wrong]
        if not wrong:
            shutil.rmtree(folder / str(number))
    return {"transcripts": transcripts, "faults": faults}


HARNESSES = {
    "trips": Harness(
        run=run, count=20, night=150, laws=("faults",), least={"transcripts": 1.0},
        controls={"name": ("faults", 3), "forgotten": ("faults", 3)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
