"""Checks isolation between users: random operations on a household's memory.

Three people, a shared scope, visitors and spans off the record; muted transcripts, voice commands,
tools, session heads and LLMs on this machine or another, and a second process. One person's name
begins another's. After each read, no word of another person may be in it, and at the end not in any
index, sealed or not, file, cache or log line either.

Each law has planted leaks, which it must catch itself. A long run is many households of
``HOUSEHOLD`` operations each: some laws read everything.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

from loguru import logger
from msgspec.structs import replace

from slowcat_memory.core import disclosure
from slowcat_memory.core.memory import chunk
from slowcat_memory.engine import read_graph, wiring
from slowcat_memory.idle.jobs.summaries import SummaryJob
from slowcat_memory.index import Searcher
from slowcat_memory.processor.commands import VoiceCommands
from slowcat_memory.processor.context_messages import ContextMessages
from slowcat_memory.records import Forget, Memory
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.commands import executor
from slowcat_memory.runtime.conversation import conversation
from slowcat_memory.runtime.conversation.conversation import Audience
from slowcat_memory.runtime.conversation.session_tracker import OffRecord
from slowcat_memory.runtime.namespaces.indexer import Indexer
from slowcat_memory.runtime.namespaces.live_index import document
from slowcat_memory.runtime.recall.service import Retrieval
from slowcat_memory.store import Snapshot
from slowcat_memory.store.forget import Deletion
from slowcat_memory.testing import ScriptedLLM
from slowcat_memory.tools.functions import Call, ToolCalls
from slowcat_memory.transfer.formats import rows as own_rows
from tests.harness.command import Harness, around, main
from tests.harness.household import (
    GUEST,
    HOME,
    PEOPLE,
    SHARED,
    VISITORS,
    VOICES,
    Ears,
    Household,
    Leak,
    may_hold,
    scope_of,
)
from tests.support.engine_home import why_of
from tests.support.memories import Look
from tests.support.parroting_llm import parrot

# ------------------------------------------------------------------- operations


def say(home: Household) -> None:
    many = home.rng.choice((1, 1, 1, 1, 2))
    home.say(*home.rng.sample([*VOICES, home.rng.choice(VISITORS)], many))


def mute(home: Household) -> None:
    """Let words that all share be heard and muted, then somebody speak who uses them."""
    voices = [*VOICES, *VISITORS]
    for _ in range(home.rng.randint(1, 3)):
        home.muted.append((home.rng.choice(voices), home.rng.choice(SHARED)))
    home.say(home.rng.choice(voices))


def off_the_record(home: Household) -> None:
    """Go off the record by voice; nobody else may end it."""
    home.between_us = True
    who = home.rng.choice([*VOICES])
    home.say(who, words="off the record")
    for _ in range(home.rng.randint(1, 3)):
        home.say(home.rng.choice([*VOICES, *VISITORS]))
    home.say(home.rng.choice([v for v in (*VOICES, *VISITORS) if v != who]),
             words="back on the record")  # fmt: skip
    if not home.record.off:
        raise Leak("record", "somebody else ended off the record")
    home.say(home.rng.choice([*VOICES, *VISITORS]))
    home.say(who, words="back on the record")
    home.look_into_caches()
    home.between_us = False


def order(home: Household) -> None:
    """Give a voice command; a guest's is refused, and nothing of it is kept."""
    voice = home.rng.choice([*VOICES, VISITORS[0], VISITORS[1]])
    mine = f"q{scope_of(voice)}{home.number()}x"
    answer = home.say(voice, words=home.rng.choice((
        f"remember that my key is {mine}", f"remember for all of us that the key is q{HOME if voice in VOICES else GUEST}{home.number()}x",
        "what do you know about me", "why did you say that", "undo that",
        f"that's wrong, it's {mine}", f"forget everything about {mine}", "who can see this",
    )))  # fmt: skip
    home.engine.store.flush(None)
    kept = Look(home.engine).memories(GUEST) or Look(home.engine).commands(GUEST, 5)
    if voice in VISITORS and (kept or not answer.startswith("I don't know who")):
        raise Leak("guests", f"a guest's command was carried out: {answer!r}")


def take_back(home: Household) -> None:
    """Let one or two people say something and forget it: it must be gone for both, from all files."""
    voices = home.rng.sample([*VOICES], home.rng.randint(1, 2))
    words = [f"q{scope_of(voice)}{home.number()}x" for voice in voices]
    for voice, word in zip(voices, words, strict=True):
        home.talk.heard(voice, f"please note {word}")
    told = home.rng.random() < 0.5
    home.turn(" ".join(f"please note {word}" for word in words), set(map(scope_of, voices)),
              reply=f"noted, {words[0]}" if told else "")  # fmt: skip
    home.say(home.rng.choice(voices), words="forget that")
    home.clock.advance(400)
    home.talk.tick()
    home.engine.upkeep.erase_due()
    home.gone(words)


def greet(home: Household) -> None:
    """Begin with the head of another person."""
    home.greet(home.rng.choice(PEOPLE))


def remember(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME))
    home.engine.remember(home.sentence(scope), scope, local_only=home.rng.random() < 0.2)


def pin(home: Household) -> None:
    """Pin an own memory, and try another's by its id."""
    mine, other = home.rng.sample((*PEOPLE, HOME), 2)
    for hit in home.hits(mine)[:1]:
        home.engine.edit(mine, hit.memory.id, pinned=home.rng.random() < 0.5)
        if home.engine.edit(other, hit.memory.id, pinned=True) is not None:
            raise Leak("search", f"{other} pinned a memory of {mine}")


def keep_local(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME))
    for hit in home.hits(scope)[:1]:
        home.engine.edit(scope, hit.memory.id, local_only=home.rng.random() < 0.5)
    home.leaves(home.engine.search(home.question(), scope, 9).hits)


def search(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME, GUEST))
    also = home.audience.readable((scope,))[1:] if scope in PEOPLE else ()
    hits = home.engine.search(home.question(), scope, 9, also=also, local=True).hits
    home.clean("search", hits, may_hold(scope) if scope != GUEST else (), f"search in {scope}")


def why(home: Household) -> None:
    entries = Look(home.engine).ledger_tail(20)
    for entry in home.rng.sample(entries, min(3, len(entries))):
        found = why_of(home.engine, entry.turn)
        home.clean("log", entry, (), "the ledger")
        home.clean("log", found, may_hold(entry.scope), f"why in {entry.scope}")


def export(home: Household) -> None:
    scope = home.rng.choice((*PEOPLE, HOME, GUEST))
    rows = partial(own_rows.export, home.engine.store.snapshot)
    home.clean("log", [*rows(scope)], may_hold(scope), f"export of {scope}")
    home.clean("log", [*rows(but=GUEST)], (*PEOPLE, HOME), "export")


def forget(home: Household) -> None:
    scope = home.rng.choice(PEOPLE)
    ids = tuple(hit.memory.id for hit in home.hits(scope)[:2])
    other = home.rng.choice([name for name in PEOPLE if name != scope])
    if ids and home.engine.store.covered(Forget(scope=other, memories=ids)).turns:
        raise Leak("search", f"{other} forgets what {scope} said")
    if ids:
        home.engine.forget(Forget(scope=scope, memories=ids))


def age(home: Household) -> None:
    home.clock.advance(home.rng.choice((60, 400, 7200, 30_000)))
    home.talk.tick()
    for scope in (*home.audience.recallable, home.audience.guest):
        home.engine.upkeep.age(scope)
    home.engine.upkeep.erase_expired()


def seal(home: Household) -> None:
    home.engine.flush(indexed=True)
    home.engine.upkeep.seal(home.rng.choice((*PEOPLE, HOME, GUEST)))


def think(home: Household) -> None:
    """Run idle jobs, by rules or with an LLM that repeats its input, and check the results."""
    home.think(ScriptedLLM(parrot) if home.rng.random() < home.llm_share else None)
    home.look_at_thoughts()


def look_back(home: Household) -> None:
    """Ask for an overview, and call the tools about people and recent times."""
    scope = home.rng.choice((*PEOPLE, HOME))
    for text in ("What did we talk about lately?", "What did we talk about yesterday?"):
        found = home.runner.run(home.engine.recall(text, scope))
        home.clean("recall", found.hits, may_hold(scope), f"an overview for {scope}")
    home.clean(
        "thoughts",
        read_graph(home.engine, scope).portraits(),
        may_hold(scope),
        f"the people of {scope}",
    )
    call = Call(home.engine, scope, local=True)
    for name, arguments in (
        ("search_memory", {"query": home.question()}),
        ("memory_as_of", {"query": home.question(), "date": "today"}),
        ("facts_list", {}),
    ):
        told = ToolCalls().answer(name, arguments, call)
        home.clean("tools", told, may_hold(scope), f"{name} for {scope}")


def elsewhere(home: Household, *scopes: str) -> None:
    """Read in a second process: for the scopes, or for one of them all."""
    home.engine.flush(indexed=True)
    for scope in scopes or (home.rng.choice((*PEOPLE, HOME)),):
        told = home.ask_elsewhere(scope, home.question())
        home.clean("search", told["texts"], may_hold(scope), f"search elsewhere in {scope}")
        home.clean("heads", told["head"], may_hold(scope), f"the head of {scope} elsewhere")
        if told["local"]:
            raise Leak("local", "a local-only memory is sent to another process's LLM")
        home.done["elsewhere"] += len(told["texts"])


def reopen(home: Household) -> None:
    home.close()
    home.open()


# Frequency of each, per thousand operations.
OPERATIONS: Counter[Callable[[Household], None]] = Counter({
    say: 440,
    mute: 60,
    off_the_record: 20,
    order: 80,
    take_back: 10,
    greet: 20,
    remember: 60,
    pin: 30,
    keep_local: 30,
    search: 100,
    why: 40,
    export: 5,
    forget: 8,
    age: 40,
    seal: 2,
    think: 3,
    look_back: 20,
    elsewhere: 30,
    reopen: 5,
})  # fmt: skip
HOUSEHOLD = 250  # operations, after which everything is read and another household begins


def drawn(home: Household, count: int) -> list[Callable[[Household], None]]:
    """Draw operations: of each the whole number in its share, the others by chance."""
    shares = {work: count * often / OPERATIONS.total() for work, often in OPERATIONS.items()}
    works = [work for work, share in shares.items() for _ in range(int(share))]
    rest = [share % 1 for share in shares.values()]
    works += home.rng.choices([*shares], rest, k=count - len(works))
    home.rng.shuffle(works)
    return works


# ------------------------------------------------------------------- planted leaks


def shared_cache() -> Any:
    """Recall caches results by text, whoever asks."""
    found: dict[str, Any] = {}

    def cached(run: Any, self: Any, recall: Any, **more: Any) -> Any:
        key = " ".join(recall.query.text.split()[:4])
        return found.setdefault(key, run(self, recall, **more))

    return around(Retrieval, "run", cached)


def post_filter() -> Any:
    """One index for all, with foreign hits filtered out afterwards."""

    def to_all(take: Any, self: Any, turns: Any, namespace: Any) -> None:
        take(self, turns, namespace)
        for turn, _ in turns:
            for other in self._namespaces:
                if chunk(turn).id not in other.searcher:
                    other.searcher.add(document(chunk(turn), other._order.language))

    return around(Indexer, "_add_turns", to_all)


def _everybody(self: Any, scopes: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*scopes, *PEOPLE)))


def _unsplit(text: str, heard: Any, typed: Any) -> Any:
    return [(heard[-1].voice, text)]


def nosy() -> Any:
    """A job that reads every scope, and writes what it read into its own."""

    async def step(summarise: Any, self: Any, task: Any, context: Any) -> Any:
        batch = await summarise(self, task, context)
        if self.name != "session_summary":
            return batch
        with context.snapshot() as snapshot:
            every = [turn.text for turn in islice(snapshot.turns(), 50)]
        made = tuple(replace(one, text=" ".join((one.text, *every))) for one in batch.memories)
        return replace(batch, memories=made)

    return around(SummaryJob, "step", step)


@contextmanager
def obedient() -> Iterator[None]:
    """Guests' commands are carried out."""

    def execute(self: Any, command: Any, context: Any) -> Any:
        self.store.flush(1.0)
        return getattr(self, f"_{command.kind}")(command, context)

    with (
        mock.patch.object(VoiceCommands, "refuses", lambda self, scopes: False),
        mock.patch.object(executor.CommandExecutor, "execute", execute),
    ):
        yield


@contextmanager
def half_forgotten() -> Iterator[None]:
    """What was said to two is forgotten for one."""
    with (
        mock.patch.object(executor, "left_with_others", lambda *_: ([], [])),
        mock.patch.object(Deletion, "takes_copies", lambda *_: False),
    ):
        yield


@contextmanager
def nosy_with(llm_share: float) -> Iterator[None]:
    with nosy(), mock.patch.object(Household, "llm_share", llm_share):
        yield


def talkative() -> Any:
    """What is said is in a log line."""

    def logged(user_said: Any, self: Any, text: str, *how: Any, **more: Any) -> Any:
        logger.patch(lambda record: record.update(name="slowcat_memory.planted")).info(text)
        return user_said(self, text, *how, **more)

    return around(conversation.Conversation, "user_said", logged)


@contextmanager
def anywhere() -> Iterator[None]:
    """The gate ignores where a text goes, and so does what recall leaves out before it."""

    def as_if_local(may_read: Any, memory: Any, reader: Any) -> bool:
        return may_read(memory, replace(reader, local=True))

    with (
        around(disclosure, "may_read", as_if_local),
        around(Searcher, "candidates", lambda real, *a, **how: real(*a, **how | {"local": True})),
    ):
        yield


def _unseparated(self: Any, scope: str, beginning: str = "", after: str = "") -> Any:
    """A namespace is read by the beginning of its keys, without what separates their parts."""
    return iter(()) if after else self._rows.records(Memory, "memories", scope.encode(), b"")


def _ended(self: Any, by: str = "") -> bool:
    self._set(set())
    return True


def instead(owner: Any, name: str, what: Any) -> Callable[[], Any]:
    return lambda: mock.patch.object(owner, name, what)


# By name: the law that must catch it (or one of those of the same decision), and the leak.
READ = "recall or search or context"  # whichever looks first
CONTROLS: dict[str, tuple[str, Callable[[], Any]]] = {
    "prompt": ("prompts", lambda: nosy_with(1.0)),
    "thought": ("thoughts", lambda: nosy_with(0.0)),
    "logs": ("files", talkative),
    "union": (f"{READ} or answers", instead(Audience, "readable", _everybody)),
    "split": ("speakers", instead(conversation, "split", _unsplit)),
    "cache": (f"{READ} or tools", shared_cache),
    "filter": ("index", post_filter),
    "blocks": ("context", instead(ContextMessages, "_strip_blocks", lambda *_: None)),
    "tools": ("tools", instead(injection, "empty_calls", lambda *_: None)),
    "answers": ("answers", instead(ContextMessages, "_strip_answers", lambda *_: None)),
    "heads": ("heads", instead(ContextMessages, "_strip_heads", lambda *_: None)),
    "guests": ("guests", obedient),
    "forgotten": ("forgotten", half_forgotten),
    "ended": ("record", instead(OffRecord, "end", _ended)),
    "record": ("record", instead(OffRecord, "begin", lambda *_: None)),
    "purge": ("caches", instead(Household, "record_changed", lambda self, off: None)),
    "local": ("local", anywhere),
    "prefix": (
        "prompts or log or search or recall or thoughts or heads or tools or index",
        instead(Snapshot, "memories", _unseparated),
    ),
    "guest": ("search or recall or prompts", instead(wiring, "guest_scope", lambda options: "")),
}

# ------------------------------------------------------------------- the run


def run(folder: Path, operations: int, seed: int, control: str = "") -> dict[str, Any]:
    """Do random operations; return counts of them and of checks, and the leak by its law, if any."""
    done, leak, law = Counter[str](), "", ""
    with CONTROLS[control][1]() if control else nullcontext():
        for first in range(0, operations, HOUSEHOLD):
            home = Household(folder / str(first), seed * 1_000_003 + first)
            with Ears(home.logged):
                try:
                    for work in drawn(home, min(HOUSEHOLD, operations - first)):
                        home.clock.advance(1)
                        work(home)
                    if not control:
                        home.engine.flush(indexed=True)
                        for scope in ("ann", "anna"):
                            home.engine.upkeep.seal(scope)
                            home.done["sealed"] += 1
                        elsewhere(home, *PEOPLE, HOME)
                    home.look_everywhere()
                except Leak as error:
                    leak, law = str(error), error.law
                finally:
                    home.end()
            done += home.done
            if leak:
                break
            shutil.rmtree(folder / str(first), ignore_errors=True)
    return {"leak": leak, **done, **{name: int(name == law) for name in LAWS}}


LAWS = tuple(dict.fromkeys(law for laws, _ in CONTROLS.values() for law in laws.split(" or ")))
SLOW = ("prompt", "thought", "logs", "filter", "ended")  # of idle work, or seldom to be seen
HARNESSES = {
    "households": Harness(
        run=run, count=250, night=2000, seeds=3, laws=LAWS,
        least={"looked": 4.0, "requested": 0.4, "spoken": 0.05, "elsewhere": 0.001, "sealed": 0.004},
        controls={
            name: (laws, 1000 if name in SLOW else 150 if name == "prefix" else 500) for name, (laws, _) in CONTROLS.items()
        },
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
