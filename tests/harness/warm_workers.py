"""Checks that a warm worker keeps nothing of one person while it serves the next.

One process is a fleet's worker for many people, one after another and two at once, in real
pipelines. Each says words that nobody else says, and has them remembered, forgotten, looked up,
kept off the record and thought about. Whatever leaves the memory in the next conversation (*said*)
may have no word of the one before; nor may what the *process* still holds, its *files*, the *rows*,
*statements* of the database, or a line of the *log*.
"""

import asyncio
import gc
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from loguru import logger

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.clock import SystemClock
from slowcat_memory.config import build_options
from slowcat_memory.engine import hotwords
from slowcat_memory.engine.engine import INDEX_AFTER_S
from slowcat_memory.fleet import Fleet, leases, schema
from slowcat_memory.fleet.copies import copy_name
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.records import Forget
from slowcat_memory.runtime.namespaces import indexer
from slowcat_memory.store import replica
from slowcat_memory.store.disk import outbox
from slowcat_memory.testing import FixedClock, ScriptedLLM
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer, ToolCall
from slowcat_memory.testing.server import parrot as quoting
from tests.harness.command import Harness, around, main
from tests.harness.fleet_server import TENANT, Server
from tests.harness.household import Leak
from tests.harness.isolation import shared_cache, talkative
from tests.harness.process_search import held
from tests.support.memories import contents
from tests.support.parroting_llm import parrot, think

CONSONANTS, VOWELS = "bdfglmnprtvs", "aeiou"
SYLLABLES = [c + v for c in CONSONANTS for v in VOWELS]
# A person's number and a word's, two syllables each: letters alone, so that rules take it for a name.
WORD = re.compile(
    rf"zoq((?:[{CONSONANTS}][{VOWELS}]){{2}})((?:[{CONSONANTS}][{VOWELS}]){{2}})", re.I
)
USER_ID = 0  # this word of a person is their name for the worker, which log lines may have
READY_S = STORED_S = 600.0  # after so long, something hangs
LOOKS = 30  # until nothing may be held: a closed memory's threads end their last work


def coded(number: int) -> str:
    return SYLLABLES[number // len(SYLLABLES) % len(SYLLABLES)] + SYLLABLES[number % len(SYLLABLES)]


def number_of(letters: str) -> int:
    first, second = letters[:2].lower(), letters[2:].lower()
    return SYLLABLES.index(first) * len(SYLLABLES) + SYLLABLES.index(second)


def whose(seen: Any) -> set[int]:
    """Return whose words are in a text, by number."""
    plain = seen if isinstance(seen, str) else repr(seen)
    return {number_of(found[1]) for found in WORD.finditer(plain)}


class Person:
    """Whose words are made from a number, so that nothing of the harness holds them."""

    def __init__(self, number: int) -> None:
        self.number, self.spoken = number, USER_ID

    def word(self, n: int) -> str:
        return f"zoq{coded(self.number)}{coded(n)}"

    @property
    def user_id(self) -> str:
        return self.word(USER_ID)

    def new(self) -> str:
        self.spoken += 1
        return self.word(self.spoken)

    def name(self) -> str:
        return self.new().capitalize()

    def told(self, rng: random.Random) -> list[str]:
        """Return what a person says in one conversation."""
        lines = [
            f"My name is {self.name()}.",
            f"My sister {self.name()} lives in {self.name()} and plays the {self.new()}.",
            f"I work as a {self.new()} at {self.name()} since May.",
            f"My dentist {self.name()} expects me on Friday, the code is {self.new()}.",
            f"{self.name()} is allergic to {self.new()}.",
            "Where does my sister live?",
            "What is the code of my dentist?",
            f"Can you look up the {self.new()}?",
            f"Remember that my key is {self.new()}.",
            "What have we talked about lately?",
        ]
        rng.shuffle(lines)
        return [
            *lines[: rng.randint(5, 8)],
            f"My secret is {self.new()}.", "Forget that.",
            "off the record", f"Between us, it is {self.new()}.", "back on the record",
            "What is my secret?", "Where does my sister live?",
        ]  # fmt: skip


# ------------------------------------------------------------------- the worker


class Bench:
    """A worker, its database, and all that is looked at.

    Attributes:
        active: Who talks now, by number.
    """

    def __init__(self, folder: Path, server: Server, seed: int) -> None:
        self.rng, self.folder, self.server = random.Random(seed), folder, server
        self.done, self.active = Counter[str](), set[int]()
        self.leaks: list[Leak] = []
        config = build_options({
            "fleet": {"dsn": server.dsn, "cache": str(folder / "cache"), "lease_s": 20.0},
            "memory": {"time_zone": "UTC"},
            "recall": {"deadline_ms": 60_000, "warn_ms": 60_000},
            "store": {"map_size_gib": 1},
        })  # fmt: skip
        self.fleet = Fleet(config)
        self.looks = True  # whether to walk over all that the process holds

    # -------------------------------------------------------- what is looked at

    def see(self, law: str, seen: Any, of: Iterable[int], what: str = "") -> None:
        """Note a leak where something has words of others."""
        self.done[law] += 1
        found = whose(seen)
        self.done["own words"] += bool(found & set(of))
        if others := found - set(of):
            self.leaks.append(Leak(law, f"{what or law} has words of {sorted(others)}"))

    def see_log(self, message: Any) -> None:
        """Look at a log line: of ours, no content at all; of any, nobody who is gone."""
        record = message.record
        text = f"{message}{record['extra']}"
        self.see("log", text, self.active, f"{record['name']}:{record['line']}")
        if str(record["name"]).startswith("slowcat_memory"):
            for found in WORD.finditer(text):
                if number_of(found[2]) != USER_ID:
                    where = f"{record['name']}:{record['function']}:{record['line']}"
                    self.leaks.append(Leak("log", f"{where} logs what was said"))

    def raise_first(self) -> None:
        if self.leaks:
            raise self.leaks[0]

    def look_at_process(self) -> None:
        """Look for words of people who are gone in everything that the process holds."""
        for _ in range(LOOKS):
            if not (ways := self._held()):
                break
            time.sleep(0.5)  # a thread that was embedding ends
        self.done["process"] += 1
        if ways:
            shown = "\n".join(f"  {n} x {way}" for way, n in ways.most_common(25))
            self.leaks.append(Leak("process", f"words of people who are gone are held by\n{shown}"))

    def _held(self) -> Counter[str]:
        gc.collect()
        return Counter(way for person, way in held(WORD) if number_of(person) not in self.active)

    def look_at_files(self, people: Iterable[Person]) -> None:
        """Look at each file of the worker: a person's copies have that person's words alone."""
        owners = {copy_name(TENANT, one.user_id): one.number for one in people}
        for name, held_there in contents(self.folder / "cache"):
            place = name.partition("/")[0]
            of = {owners[place]} if place in owners else set[int]()
            self.see("files", held_there.decode("latin-1"), of, f"a file of {of}")
            self.see("files", name, of, "a file's name")

    def look_at_rows(self, people: Iterable[Person]) -> None:
        """Look at each row of the database."""
        for one in people:
            for table in schema.TABLES:
                for row in self._rows(table, one.user_id):
                    self.see("rows", row, {one.number}, f"slowcat.{table}")

    def _rows(self, table: str, person: str) -> list[Any]:
        whose = copy_name(TENANT, person) if table == "kept" else person
        column = "copies" if table == "kept" else "person"
        query = f"SELECT * FROM slowcat.{table} WHERE tenant = $1 AND {column} = $2"
        rows: list[Any] = self.server.call(lambda c: c.fetch(query, TENANT, whose))
        if table == "log":
            return [(row, outbox.unpack_changes(row["body"])) for row in rows]
        if table == "snapshot":
            return [(row, replica.unseal(row["body"])) for row in rows]
        return rows

    def look_at_server_log(self, path: Path) -> None:
        """Look at the texts of all statements that the server was sent."""
        for line in path.read_text("utf-8").splitlines():
            self.see("statements", line, (), "the server's log")

    # -------------------------------------------------------- conversations

    async def talk(self, person: Person) -> None:
        """Have one conversation; the one who talks is ``active`` until it has ended."""
        self.active.add(person.number)
        of = {person.number}
        before = self.done["recalled own"]
        try:
            async with ScriptedServer(reply_to) as server:  # it keeps what it was asked
                await self._converse(person, server, of)
            del server
            await asyncio.sleep(2 * INDEX_AFTER_S)  # the longest timer of a memory
        finally:
            self.active.discard(person.number)
        if self.active and self.looks:  # what is kept of the one while the other still talks?
            self.look_at_process()
            self.done["beside"] += 1
        self.done["conversations"] += 1
        self.done["recalling"] += self.done["recalled own"] > before

    async def _converse(self, person: Person, server: ScriptedServer, of: set[int]) -> None:
        memory = HybridContextualMemoryProcessor(
            user_id=person.user_id, fleet=self.fleet, rtvi="texts"
        )
        stored = asyncio.Event()

        async def handle(name: str, _: Any, *arguments: Any) -> None:
            self.see("said", arguments, of, name)
            if name == "on_memory_recalled" and whose(arguments) & of:
                self.done["recalled own"] += 1
            if name == "on_exchange_stored":
                stored.set()

        for name in ("on_memory_recalled", "on_exchange_stored", "on_command", "on_memory_created",
                     "on_memory_updated", "on_memory_retired", "on_memory_trouble"):  # fmt: skip
            memory.add_event_handler(name, partial(handle, name))

        async def pushed(_: Any, frame: Any) -> None:
            seen = repr(frame) + repr(getattr(frame, "data", ""))
            self.see("frames", seen, of, type(frame).__name__)

        memory.add_event_handler("on_before_push_frame", pushed)
        talk = HeadlessConversation(
            llm_url=server.url, memory=memory, speaker=person.word(1), tools=memory.tools()
        )
        async with talk:
            async with asyncio.timeout(READY_S):
                while memory.engine is None:
                    await asyncio.sleep(0.01)
            self.see("said", await memory.session_context(), of)
            for line in person.told(self.rng):
                stored.clear()
                reply = await talk.say(line, interims=self.rng.random() < 0.3)
                self.see("said", reply.text, of)
                self.done["turns"] += 1
            await asyncio.to_thread(self._use, memory.engine, person, of)
        await asyncio.to_thread(self._asked, server)

    def _asked(self, server: ScriptedServer) -> None:
        """Look at the requests so far: each has one person's words at most."""
        while server.requests:
            request = server.requests.pop()
            found = whose(request)
            self.see("said", request, found if len(found) == 1 else (), "a request")
            if not found <= self.active:
                self.leaks.append(Leak("said", f"a request has words of {found - self.active}"))
        server.embedding_requests.clear()

    def _use(self, engine: Any, person: Person, of: set[int]) -> None:
        """Use what applications call, and think."""
        me = person.user_id
        engine.flush(STORED_S, indexed=True)
        engine.remember(f"The alarm's code is {person.new()}.", me, local_only=True)
        engine.icebreakers.push(me, f"Ask about {person.name()}.", quiet=False)
        for question in ("Where does my sister live?", "What is the alarm's code?", "lately?"):
            self.see("said", engine.search(question, me, 9, local=True).hits, of)
        self.see("said", engine.session_context(me, local=True), of)
        self.see("said", hotwords(engine, me, local=True), of)
        self.see("said", engine.upkeep.stats(), of)
        llm = ScriptedLLM(parrot) if self.rng.random() < 0.7 else None
        think(engine, FixedClock(SystemClock()()), llm, BUILT_IN, patience_s=0.5)
        for prompt in llm.prompts if llm else ():
            self.see("said", prompt, of)
        self.see("said", engine.upkeep.stats(), of)
        found = tuple(hit.memory.id for hit in engine.search("my sister's code", me, 3).hits)
        self.done["forgotten"] += len(engine.forget(Forget(scope=me, memories=found)).turns)
        engine.holding.wait_purged(STORED_S)
        self.see("log", vars(self.fleet.metrics), (), "a metric")


def reply_to(request: dict[str, Any]) -> Any:
    """Answer with what was recalled; look things up with the tool where that is asked for."""
    last = request["messages"][-1]
    text = str(last.get("content") or "")
    if last["role"] == "user" and "look up" in text:
        return ToolCall("search_memory", {"query": text.split("look up", 1)[1]})
    return quoting(request)


# ------------------------------------------------------------------- planted leaks


KEPT: list[Any] = []


def last_query() -> Any:
    """A cache of the process keeps the last query."""

    def kept(query: Any, self: Any, text: str, **how: Any) -> Any:
        KEPT.append(text)
        return query(self, text, **how)

    return around(indexer.Embedding, "query", kept)


def in_the_statement() -> Any:
    """A statement's text has a parameter."""

    async def told(take: Any, connection: Any, worker: Any, person: str, *rest: Any) -> Any:
        await connection.execute(f"SELECT '{person}'")
        return await take(connection, worker, person, *rest)

    return around(leases, "take", told)


CONTROLS: dict[str, tuple[str, Callable[[], Any]]] = {  # the law that must catch it
    "cache": ("process", last_query),
    "recall": ("said", shared_cache),
    "logs": ("log", talkative),
    "statement": ("statements", in_the_statement),
}

# ------------------------------------------------------------------- a run


@contextmanager
def looking(bench: Bench) -> Iterator[None]:
    """Look at log lines while the block runs."""
    sink = logger.add(bench.see_log, level="TRACE", format="{message} {exception}", enqueue=False)
    try:
        yield
    finally:
        logger.remove(sink)


async def serve(bench: Bench, people: int, log: Path) -> None:
    """Let people come, one after another and two at once; some come again."""
    seen = list[Person]()
    number = bench.rng.randrange(100, 1000)
    while len(seen) < people:
        ahead = [Person(number + n) for n in range(bench.rng.choice((1, 1, 2)))]
        number += len(ahead)
        seen += ahead
        if len(seen) > 3 and bench.rng.random() < 0.3:
            back = bench.rng.choice(seen[: -len(ahead)])
            ahead = [ahead[0], back]
        await asyncio.gather(*(bench.talk(one) for one in ahead))
        del ahead
        if bench.looks:
            bench.look_at_process()
        bench.raise_first()
    await asyncio.to_thread(bench.look_at_files, seen)
    await asyncio.to_thread(bench.look_at_rows, seen)
    bench.look_at_server_log(log)
    bench.raise_first()


def run(folder: Path, people: int, seed: int, control: str) -> dict[str, Any]:
    """Serve some people; return what was looked at, and the law that was broken."""
    leak = law = ""
    logger.remove()
    with closing(Server(folder / "postgres")) as server:
        server.execute("ALTER SYSTEM SET log_statement = 'all'")
        server.execute("ALTER SYSTEM SET log_parameter_max_length = 0")
        server.execute("SELECT pg_reload_conf()")
        bench = Bench(folder, server, seed)
        bench.looks = control in ("", "cache")
        with bench.fleet, CONTROLS[control][1]() if control else nullcontext(), looking(bench):
            try:
                asyncio.run(serve(bench, people, folder / "postgres" / "log"))
            except Leak as found:
                leak, law = str(found), found.law
    counted = {f"looked at {name}": n for name, n in bench.done.items()}
    return {"leak": leak, **counted, **{name: int(name == law) for name in LAWS}}


LAWS = ("said", "process", "files", "rows", "log", "statements")
HARNESSES = {
    "people": Harness(
        run=run, count=4, night=6, laws=LAWS,
        least={
            f"looked at {name}": n for name, n in (
                ("conversations", 1.0), ("recalling", 0.9), ("forgotten", 0.5), ("own words", 50.0),
                ("rows", 3.0), ("process", 0.4),
            )
        },
        controls={name: (law, 2 if name == "cache" else 4) for name, (law, _) in CONTROLS.items()},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
