"""A household with one agent: three people, a shared scope, a guest, and turns off the record.

Every utterance has words unique to its speaker (`qanna17x`), so that any text that is read can be
searched for words of others (`Leak`).
"""

import asyncio
import json
import logging
import random
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from loguru import logger

from slowcat_memory import transfer
from slowcat_memory.core.memory import findable
from slowcat_memory.core.memory import turn_of as chunk_turn
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.processor.context_messages import PlacedBlocks
from slowcat_memory.records import Hit
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.conversation import Conversation, Names
from slowcat_memory.runtime.conversation.off_record import OffRecord
from slowcat_memory.runtime.conversation.session_tracker import Moment, SessionTracker
from slowcat_memory.runtime.namespaces.registry import index_root
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing import FixedClock, HashEmbedder, ScriptedLLM, memory_config
from tests.support.parroting_llm import think

PEOPLE = ("anna", "ben", "cleo")
VOICES = {f"voice-{name}": name for name in PEOPLE}
HOME, GUEST, OFF = "home", "guest", "off"
WORD = re.compile(r"q([a-z]+)\d+x")
THINGS = ("key", "bicycle", "doctor", "password", "present", "garden", "letter", "piano")
NOTHING = Packed("", (), 0)


class Leak(AssertionError):
    """Somebody's words were found in another's memory."""


def whose(seen: Any) -> set[str]:
    """Return the speakers whose words are in a text."""
    plain = seen if isinstance(seen, str) else repr(seen)
    return set(WORD.findall(plain))


def may_hold(scope: str) -> set[str]:
    """Return the speakers whose words may be in a scope; the household's may be in any."""
    return {scope, HOME} if scope in PEOPLE else {scope}


class Household:
    """The engine, one conversation, and the counts so far."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.clock, self.done = random.Random(seed), FixedClock(), Counter[str]()
        people = {"scopes": "each", "household": HOME, "guest": GUEST, "guest_hours": 24.0}
        tiers = {"warm": 20, "block_exchanges": 3}
        self.config = memory_config(
            folder,
            memory={"path": str(folder), "time_zone": "UTC", "hot_cache_size": 30,
                    "user_id": "anna"},
            people=people, tiers=tiers, recall={"floor": 0.0, "deadline_ms": 1e4, "warn_ms": 1e4},
            store={"durability": "relaxed"},
        )  # fmt: skip
        self.logged: list[str] = []
        self.messages: list[dict[str, str]] = []
        self.words, self.between_us = 0, False
        self.runner = asyncio.Runner()
        self.open()

    # ---------------------------------------------------------------- life

    def open(self) -> None:
        self.engine = MemoryEngine(self.config, clock=self.clock, embedder=HashEmbedder())
        self.audience = Audience(self.config.people, "anna", VOICES)
        self.record = OffRecord(self.config.sessions, self.record_changed, self.monotonic)
        scopes = (*self.audience.people, self.audience.guest)
        names = Names("User", "Cat", VOICES)
        self.talk = Conversation(self.audience, map(self.tracker, scopes), self.engine.append,
                                 names, self.record, self.clock, self.monotonic)  # fmt: skip
        self.blocks, self.readers = PlacedBlocks(), ()
        self.messages.clear()  # another conversation, another context
        for scope in self.audience.recallable:
            self.engine.prepare(scope)

    def tracker(self, scope: str) -> SessionTracker:
        return SessionTracker(
            scope,
            lambda now: f"{scope}-{now:%d%H%M%S}-{self.number()}",
            self.config.sessions,
            self.engine.latest_session(scope),
            Moment(self.clock(), self.monotonic()),
        )

    def monotonic(self) -> float:
        return self.clock().timestamp()

    def record_changed(self, off: bool) -> None:
        if not off:
            self.engine.eraser.drop_queries()

    def close(self) -> None:
        self.talk.disconnected()
        self.record.end()
        self.engine.close()

    def number(self) -> int:
        self.words += 1
        return self.words

    # ---------------------------------------------------------------- words

    def sentence(self, owner: str) -> str:
        """Make a common sentence with words that only one speaker has."""
        thing, more = self.rng.sample(THINGS, 2)
        owner = OFF if self.between_us else owner
        mine = [f"q{owner}{self.number()}x" for _ in range(2)]
        return f"the {thing} of {mine[0]} and the {more} are {mine[1]}"

    def question(self) -> str:
        """Ask a question, half the time with a speaker's unique word."""
        thing = self.rng.choice(THINGS)
        owner = self.rng.choice((*PEOPLE, HOME, GUEST))
        named = f" q{owner}{self.rng.randint(1, max(1, self.words))}x" * self.rng.randint(0, 1)
        return f"where is the {thing}{named}"

    def clean(self, seen: Any, allowed: Iterable[str], where: str) -> None:
        """Raise if words of others are in a text that was read."""
        self.done["looked"] += 1
        if strange := whose(seen) - set(allowed):
            raise Leak(f"{where}: words of {sorted(strange)}")

    def leaves(self, hits: Iterable[Hit]) -> None:
        """Raise if a local-only memory is among hits that may leave this machine."""
        if any(hit.memory.local_only for hit in hits):
            raise Leak("a local-only memory leaves this machine")

    # ---------------------------------------------------------------- a turn

    def say(self, *voices: str) -> None:
        """Let people speak in one turn, recall for it as the processor does, and reply."""
        parts = []
        for voice in voices:
            words = self.sentence(VOICES.get(voice, GUEST))
            self.talk.heard(voice, words)
            parts.append(words)
        text = " ".join(parts)
        turns = self.talk.user_said(text)
        found, packed = self.recall(text, turns[-1].id if turns else 0)
        if turns:
            self.engine.note_recall(turns[-1], found, packed)
        self.messages = self.messages[-8:]
        message = {"role": "user", "content": text}
        if packed.text:
            injection.prefix(message, packed.text)
            self.blocks.add(found, packed)
        self.messages.append(message)
        self.talk.agent_begins()
        told = " ".join(hit.memory.text for hit in packed.hits[:2])
        self.talk.agent_said(f"I know that {told or 'nothing'}", interrupted=False)

    def recall(self, text: str, turn: int) -> tuple[Recollection, Packed]:
        reads = self.audience.readable(self.talk.scopes)
        if self.config.people.strip_on_change and reads != self.readers:
            self.blocks.strip(self.messages, reads, self.engine.pack)
            self.readers = reads
        found, packed = Recollection(), NOTHING
        if reads:
            before = self.talk.before(None)
            found = self.runner.run(
                self.engine.recall(
                    text, reads[0], also=reads[1:], dialogue=before,
                    exclude=frozenset({f"chunk/{turn}"}),
                )
            )  # fmt: skip
            packed = self.engine.pack(found)
            self.leaves(found.hits)
        allowed = self.allowed()
        self.clean(found.hits, allowed, f"recalled for {self.talk.scopes}")
        for message in self.messages:
            self.clean(injection.block_of(message), allowed, f"the context of {self.talk.scopes}")
        return found, packed

    def allowed(self) -> set[str]:
        asking = set(self.talk.scopes)
        if GUEST in asking:
            return set()
        return {HOME, *asking} if len(asking) == 1 else {HOME}

    # ---------------------------------------------------------------- idle work

    def think(self, llm: ScriptedLLM | None) -> None:
        """Do all idle work, and check its prompts: one person's words in each."""
        self.engine.drain()
        self.engine.store.flush(None)
        if self.rng.random() < 0.3:
            self.clock.advance(600)  # sessions rest
            self.talk.tick()
        think(self.engine, self.clock, llm, patience_s=1.0)
        for prompt in llm.prompts if llm else ():
            seen = whose(prompt.system + prompt.user)
            self.done["prompts"] += 1
            if GUEST in seen or OFF in seen or len(seen - {HOME}) > 1:
                raise Leak(f"{prompt.job} is told words of {sorted(seen)} at once")

    def look_at_thoughts(self) -> None:
        """Check each scope's derived memories, preamble, contexts and keys."""
        with self.engine.store.snapshot() as snapshot:
            for scope in (*PEOPLE, HOME, GUEST):
                mine = may_hold(scope)
                made = [one for one in snapshot.memories(scope) if one.made]
                if scope == GUEST and made:
                    raise Leak("something is thought of a guest")
                self.done["thoughts"] += len(made)
                rest = [*snapshot.contexts(scope), *snapshot.keys(scope)]
                self.clean([*made, *rest], mine, f"what is thought of {scope}")
            self.clean([snapshot.tasks(), snapshot.runs(), snapshot.cursors()], (), "idle work")
        for scope in (*PEOPLE, HOME, GUEST):
            self.clean(self.engine.session_context(scope, local=True), may_hold(scope), "a head")

    # ---------------------------------------------------------------- stored data

    def hits(self, scope: str) -> list[Hit]:
        return self.engine.search(self.question(), scope, 5, local=True).hits

    def look_into_caches(self) -> None:
        """Search the caches for words off the record, once that is over."""
        self.engine.drain()
        known = {*PEOPLE, HOME, GUEST}
        self.clean([*self.engine.wiring.tokenizer._known], known, "the tokenizer's cache")
        last = [namespace.searcher._lookup._scored for namespace in self.engine.wiring.namespaces]
        self.clean(last, known, "the last query of an index")
        if self.between_us and self.engine.wiring.embedding._cached.cache_info().currsize:
            raise Leak("queries of off the record are in the embedder's cache")

    def look_everywhere(self) -> None:
        """Check each scope's log, export, index and files, the logs, and the caches."""
        self.look_into_caches()
        self.engine.store.flush(None)
        with self.engine.store.snapshot() as snapshot:
            for scope in snapshot.scopes():
                mine = may_hold(scope)
                self.clean([*snapshot.events(scope)], mine, f"the log of {scope}")
                self.clean([*snapshot.memories(scope)], mine, f"memories of {scope}")
                self.clean(json.dumps([*transfer.export(snapshot, scope)]), mine, "export")
                notes = [
                    m for m in snapshot.memories(scope) if findable(m) and not chunk_turn(m.id)
                ]
                self.count(scope, len([*snapshot.turns(scope)]) + len(notes))
        for scope in (*PEOPLE, HOME, GUEST):
            for file in index_root(self.config.folder, scope).rglob("*"):
                if file.is_file():
                    self.clean(file.read_bytes().decode("latin-1"), may_hold(scope), "index files")
        for file in self.config.folder.glob("*.mdb"):
            self.clean(file.read_bytes().decode("latin-1"), {*PEOPLE, HOME, GUEST}, "the store")
        self.clean(self.logged, (), "the logs")
        self.clean(msgspec.json.encode(self.engine.stats()).decode(), (), "statistics")

    def count(self, scope: str, memories: int) -> None:
        """An index must hold its scope's memories only, so that nothing needs filtering."""
        loaded = next((n for n in self.engine.wiring.namespaces if n.scope == scope), None)
        if loaded is not None and len(loaded.searcher) != memories:
            raise Leak(f"the index of {scope} holds {len(loaded.searcher)}, not {memories}")


class Ears:
    """Collects log lines at INFO and above."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def __enter__(self) -> None:
        self.sink = logger.add(lambda line: self.lines.append(str(line)), level="INFO")
        self.handler = logging.Handler(logging.INFO)
        self.handler.emit = lambda entry: self.lines.append(entry.getMessage())  # type: ignore
        logging.getLogger().addHandler(self.handler)

    def __exit__(self, *exc: object) -> None:
        logger.remove(self.sink)
        logging.getLogger().removeHandler(self.handler)
