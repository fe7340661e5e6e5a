"""Every exit of a memory's text, and what must not pass it: local-only words, guests', others'.

``READERS`` are the exits. A method of the engine, a tool or a spoken answer that is in no table here
fails the first tests: whoever adds one says whether a text leaves by it, and it is attacked then.
"""

import ast
import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from slowcat_memory.core.commands.grammar import Command
from slowcat_memory.core.language import CommandKind
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine, hotwords, read_graph
from slowcat_memory.idle.registry import BUILT_IN
from slowcat_memory.records import (
    Hit,
    LedgerEntry,
    Made,
    Offer,
    SessionEdge,
    Statement,
    Turn,
    WriteBatch,
)
from slowcat_memory.runtime.commands.executor import CommandContext
from slowcat_memory.testing import HashEmbedder
from slowcat_memory.tools.functions import NAMES, Call, ToolCalls
from tests.support.engine_home import Home
from tests.support.parroting_llm import ASKING, MONDAY
from tests.support.rows import listed, listed_texts
from tests.support.said import memory_at
from tests.support.sources import package_files

SECRET, GUESTS, BENS, OPEN = "Zqxprivate", "Zqxvisitor", "Zqxbenjamin", "Zqxopenly"
QUESTION = "What do you remember about my therapist and the appointment?"
GUEST = "visitors"

# ------------------------------------------------------------------- the exits

Exit = Callable[[MemoryEngine, str, bool], Any]  # (engine, scope, local) to what leaves


def _tool(tool: str, **arguments: Any) -> Exit:
    def call(engine: MemoryEngine, scope: str, local: bool) -> Any:
        guests = engine.namespaces.is_guests(scope)
        made = Call(engine, "" if guests else scope, 1, 0, local=local)
        return ToolCalls().answer(tool, arguments, made)

    return call


def _every_type(engine: MemoryEngine, scope: str, local: bool) -> Any:
    listed = _tool("facts_list")(engine, scope, local).get("memories", [])
    types = [line.partition(":")[0] for line in listed]
    return [types, [_tool("facts_read", name=name)(engine, scope, local) for name in types]]


def _spoken(kind: Any, argument: str = "") -> Exit:
    def say(engine: MemoryEngine, scope: str, local: bool) -> str:
        with engine.snapshot() as snapshot:
            last = max((turn.id for turn in snapshot.turns(scope)), default=0)
            turn = snapshot.turn(last)
        where = {"scope": scope, "session": turn.session if turn else "s", "turn": last + 1}
        context = CommandContext(speaker="Anna", llm="local" if local else "remote", **where)
        return engine.carry_out(Command(kind=kind, argument=argument), context).said

    return say


def _block(engine: MemoryEngine, scope: str, local: bool) -> str:
    found = asyncio.run(engine.recall(QUESTION, scope, local=local))
    return engine.blocks.pack(found, engine.clock()).text + repr(found.hits)


def _hits(engine: MemoryEngine, scope: str, local: bool) -> list[Hit]:
    summaries = engine.search(QUESTION, scope, 50, kinds=("summary",), local=local)
    return [*engine.search(QUESTION, scope, 20, local=local).hits, *summaries.hits]


def _graph(engine: MemoryEngine, scope: str, local: bool) -> str:
    graph = read_graph(engine, scope, local=local)
    return repr(graph.portraits()) + repr(graph.relations)


ENGINE_EXITS: dict[str, Exit] = {
    "recall": _block,
    "search": _hits,
    "session_context": lambda engine, scope, local: engine.session_context(scope, local=local),
    "graph": _graph,
    "hotwords": lambda engine, scope, local: hotwords(engine, scope, 500, local=local),
}
SEARCHES: dict[str, Exit] = {
    "search by time": lambda engine, scope, local: (
        engine.search(QUESTION, scope, 20, local=local, since=MONDAY - timedelta(days=9)).hits
    ),
    "search by speaker": lambda engine, scope, local: (
        engine.search(QUESTION, scope, 20, local=local, speaker="Anna").hits
    ),
    "search as of": lambda engine, scope, local: (
        engine.search(QUESTION, scope, 20, local=local, at=engine.clock()).hits
    ),
    "overview": lambda engine, scope, local: (
        engine.search("What did we talk about last time?", scope, 20, local=local).hits
    ),
}
TOOL_EXITS: dict[str, Exit] = {
    "search_memory": _tool("search_memory", query=QUESTION, since="2026-05-01"),
    "forget": _tool("forget", what="therapist appointment"),
    "facts_list": _every_type,
    "facts_read": _tool("facts_read", name="person"),
    "memory_as_of": _tool("memory_as_of", query=QUESTION, date="2026-05-12"),
}
SPOKEN_EXITS: dict[str, Exit] = {kind: _spoken(kind) for kind in ("what_known", "why")}
EXITS = {**ENGINE_EXITS, **SEARCHES, **TOOL_EXITS, **SPOKEN_EXITS}

# What shows no text of a memory to a reader, or shows it to the owner of the store only.
NO_EXIT = {
    *("append", "prefetch", "note_recall", "prepare", "set_activity"),
    *("remember", "edit", "carry_out", "undo", "forget", "apply", "subscribe", "flush"),
    *("embedding", "close"),
}
NO_ANSWER = {
    *("remember", "forget_that", "forget_about", "yes", "no", "undo", "who_sees", "local"),
    *("forget_span", "forget_everything"),  # count, and repeat the words of the command
    *("off_record", "on_record", "confirm"),  # done by the conversation
    "correct",  # quotes what was offered to this LLM: see test_exits_a_correction_…
}


def test_exits_every_method_of_the_engine_is_an_exit_or_none():
    methods = {name for name in vars(MemoryEngine) if not name.startswith("_")}
    assert methods - NO_EXIT == set(ENGINE_EXITS) - {"graph", "hotwords"}  # functions


def test_exits_every_tool_is_attacked():
    assert set(NAMES) - {"remember"} == set(TOOL_EXITS)


def test_exits_every_spoken_answer_is_attacked():
    assert set(get_args(CommandKind)) - NO_ANSWER == set(SPOKEN_EXITS)


# ------------------------------------------------------------------- the memory


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    home.clock.now = MONDAY
    return home.open(
        HashEmbedder(),
        recall={"floor": 0.0, "keep_share": 0.0, "deadline_ms": 1e4, "unknown_below": 0.0},
        people={"scopes": "each", "guest": GUEST, "household": "home"},
        icebreakers={"quiet_hours": "", "min_absence_h": 0.0},
    )


def talk(engine: MemoryEngine, scope: str, name: str, *said: str) -> list[Turn]:
    """Log a session; every other line is the agent's."""
    at, session = engine.clock() - timedelta(hours=6), f"{scope}-1"
    engine.append(SessionEdge(session=session, scope=scope, kind="start", at=at))
    turns = list[Turn]()
    for n, text in enumerate(said):
        role, who = ("assistant", "Assistant") if n % 2 else ("user", name)
        ack = engine.append(
            Turn(session=session, scope=scope, speaker=who, role=role, text=text,
                 at=at + timedelta(seconds=n), reply_to=turns[-1].id if n % 2 else 0)
        )  # fmt: skip
        turns.append(ack.event)
    end = at + timedelta(minutes=1)
    engine.append(SessionEdge(session=session, scope=scope, kind="end", at=end, reason="silence"))
    offers = (Offer(chunk_id(turns[0].id), 0.9),)  # the last question was answered from the first
    row = LedgerEntry(turn=turns[-2].id, scope=scope, session=session, at=at, offers=offers)
    engine.store.write_ledger(row)
    engine.flush(indexed=True)
    return turns


def derived(engine: MemoryEngine, scope: str, word: str, turn: int) -> None:
    """Store one memory of each kind that a head, an answer or a graph shows, made from a turn."""
    now, ago = engine.clock(), engine.clock() - timedelta(hours=5)
    of = {"scope": scope, "recorded_at": ago, "sources": (turn,), "made": Made(job="test")}
    base = memory_at("", f"My therapist is called {word}.", ago, **of)
    person = f"entity/{word}"
    made = [
        replace(base, id=f"fact/{word}", kind="fact/person", statement=Statement(subject="Anna")),
        replace(base, id="block/human/1", kind="block/human", facets={"owner": "agent"}),
        replace(base, id="block/profile/1", kind="block/profile"),
        replace(base, id="icebreaker/1", kind="icebreaker", valid_to=now + timedelta(days=9)),
        replace(base, id=f"summary/session/{scope}-1", kind="summary/session"),
        replace(base, id=person, kind="entity/person", facets={"name": word, "type": "person"}),
        replace(
            base, id="fact/1", kind="fact/person",
            statement=Statement(subject=word, subject_id=person, predicate="knows", object=word, object_id=person, quote=word),
        ),
        replace(base, id="episode/1", kind="episode"),
    ]  # fmt: skip
    engine.apply("test", WriteBatch(memories=tuple(made)))


def told(word: str) -> tuple[str, ...]:
    return (
        f"I have an appointment with my therapist {word}.", f"{word} is noted, the therapist.",
        "I like the beach in Lisbon, and what do you think?", "Lisbon is nice.",
    )  # fmt: skip


def fill(engine: MemoryEngine, scope: str, name: str, word: str) -> None:
    derived(engine, scope, word, talk(engine, scope, name, *told(word))[0].id)


def leaving(engine: MemoryEngine, scope: str, local: bool) -> dict[str, str]:
    """Return what leaves by each exit."""
    return {name: repr(exit_(engine, scope, local)) for name, exit_ in EXITS.items()}


def showing(found: dict[str, str], word: str) -> set[str]:
    return {name for name, text in found.items() if word.casefold() in text.casefold()}


# ------------------------------------------------------------------- local-only


def test_exits_what_may_leave_leaves_by_every_exit(engine):
    """The negative control: an exit that shows nothing would pass every attack."""
    fill(engine, "anna", "Anna", OPEN)
    assert set(EXITS) - showing(leaving(engine, "anna", False), OPEN) == set()


@pytest.mark.parametrize("when", ["before", "after"])
def test_exits_local_only_words_reach_no_llm_on_another_machine(engine, when):
    turns = talk(engine, "anna", "Anna", *told(SECRET))
    if when == "after":
        derived(engine, "anna", SECRET, turns[0].id)
    assert engine.edit("anna", chunk_id(turns[0].id), local_only=True)
    if when == "before":
        derived(engine, "anna", SECRET, turns[0].id)
    assert showing(leaving(engine, "anna", False), SECRET) == set()
    assert len(showing(leaving(engine, "anna", True), SECRET)) > 8, "they stay for a local LLM"


# ------------------------------------------------------------------- guests, and others


def test_exits_a_guest_is_shown_nothing_of_anybody(engine):
    fill(engine, GUEST, "Visitor", GUESTS)
    fill(engine, "anna", "Anna", OPEN)
    found = leaving(engine, GUEST, True)
    assert showing(found, GUESTS) | showing(found, OPEN) == set()


def test_exits_nobody_is_shown_what_guests_or_others_said(engine):
    fill(engine, GUEST, "Visitor", GUESTS)
    fill(engine, "ben", "Ben", BENS)
    fill(engine, "anna", "Anna", OPEN)
    found = leaving(engine, "anna", True)
    assert showing(found, GUESTS) | showing(found, BENS) == set()


def test_exits_a_guests_scope_is_not_read_beside_ones_own(engine):
    fill(engine, GUEST, "Visitor", GUESTS)
    fill(engine, "anna", "Anna", OPEN)
    found = asyncio.run(engine.recall(QUESTION, "anna", also=(GUEST,), local=True))
    more = engine.search(QUESTION, "anna", 20, also=(GUEST,), local=True)
    assert found.hits and more.hits
    assert {hit.memory.scope for hit in (*found.hits, *more.hits)} == {"anna"}


# ------------------------------------------------------------------- by construction


def _makes_disclosed(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    made = node.args[0] if getattr(node.func, "id", "") == "cast" and node.args else node.func
    return "Disclosed" in ast.unparse(made)


def test_exits_only_the_gate_makes_a_disclosed_memory():
    found = {
        name
        for name, tree in package_files("Disclosed")
        if any(map(_makes_disclosed, ast.walk(tree)))
    }
    assert found == {"core/disclosure.py"}


RENDERERS = listed_texts("exits", "renderers")


def _takes_memories(tree: ast.Module) -> Iterator[str]:
    """Yield public functions and structs of a module that take memories nobody checked."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            fields = node.body if isinstance(node, ast.ClassDef) else node.args.args
            hints = (one.annotation for one in fields if isinstance(one, ast.arg | ast.AnnAssign))
            names = (name.id for hint in hints if hint for name in ast.walk(hint)
                     if isinstance(name, ast.Name))  # fmt: skip
            if "Memory" in names:
                yield node.name


def test_exits_a_renderer_takes_disclosed_memories_alone():
    trees = dict(package_files())
    assert [(name, one) for name in RENDERERS for one in _takes_memories(trees[name])] == []
    control = ast.parse("def shown(memories: Sequence[Memory]) -> str: ...")
    assert list(_takes_memories(control)) == ["shown"]


DOORS = listed_texts("exits", "doors")  # to an LLM
# Their functions that read memories and are no exit; each with the reason.
NOT_SHOWN = {(door, name) for door, name, _ in listed("exits", "not shown")}
READS = {"memories", "memory", "read", "turns"}
GATES = {"disclose"}


def _ungated(tree: ast.Module) -> Iterator[str]:
    """Yield functions that read memories from a snapshot and do not pass the gate."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        reads = {
            one.func.attr
            for one in calls
            if isinstance(one.func, ast.Attribute)
            and ast.unparse(one.func.value).endswith("snapshot")
        }
        if reads & READS and not GATES & {getattr(one.func, "id", "") for one in calls}:
            yield node.name


def test_exits_what_reads_memories_for_a_reader_passes_the_gate():
    trees = dict(package_files())
    assert {(door, one) for door in DOORS for one in _ungated(trees[door])} == NOT_SHOWN


def test_exits_every_job_that_asks_is_attacked():
    """``test_kept_here`` reads the prompts of the jobs in ``ASKING``."""
    asking = {name for name, tree in package_files() if name.startswith("idle/jobs/")
              and any(getattr(node, "attr", "") == "ask" for node in ast.walk(tree))}  # fmt: skip
    homes = {type(job).__module__.removeprefix("slowcat_memory.").replace(".", "/") + ".py"
             for job in BUILT_IN if job.name in ASKING}  # fmt: skip
    assert asking <= homes
