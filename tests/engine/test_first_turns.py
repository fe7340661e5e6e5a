"""What starting and the first turns import, read and make."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from slowcat_memory.engine import MemoryEngine
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.other_process import printed_by
from tests.support.rows import listed_texts
from tests.support.said import turn_at

# ------------------------------------------------------------------- whatever is made, read or collected once in a process happens before the first t

DAYS = 30
FRESH = """
import asyncio, gc, json, sys
import re._compiler as compiler
from pathlib import Path
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.store.disk import codec
from slowcat_memory.store.snapshot import Snapshot
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config

counts = dict.fromkeys(("patterns", "rows", "collections"), 0)

def counting(name, function):
    def counted(*arguments, **named):
        counts[name] += 1
        return function(*arguments, **named)
    return counted

compiler.compile = counting("patterns", compiler.compile)
codec.decode = counting("rows", codec.decode)
Snapshot._event = counting("rows", Snapshot._event)
gc.callbacks.append(
    lambda phase, info: counts.update(
        collections=counts["collections"] + (phase == "start" and info["generation"] == 2)
    )
)
clock = FixedClock()
recall = {"floor": 0.0, "keep_share": 0.0}
config = memory_config(Path(sys.argv[1]), recall=recall, index={"seal_at": 1000})
engine = MemoryEngine(config, clock=clock, embedder=HashEmbedder(64, token_dim=32))
if sys.argv[2] == "prepared":
    engine.prepare("anna")
    engine.flush(indexed=True)
else:
    engine.namespaces.get("anna")

async def said(text):
    at = clock()
    clock.advance(30)
    ack = engine.append(Turn(session="now", scope="anna", speaker="Anna", role="user", text=text, at=at))
    ack.wait(30)  # while it is being saved, a look for what others wrote may read it once more
    found = await engine.recall(text, "anna", now=at, exclude=frozenset({f"chunk/{ack.id}"}))
    engine.note_recall(ack.event, found, engine.blocks.pack(found, at))
    return found.stage

async def turns():
    every = []
    for text in json.loads(sys.argv[3]) * 2:
        before, modules = dict(counts), len(sys.modules)
        stage = await said(text)
        engine.flush(30)
        engine.flush(indexed=True)  # what other threads read of it is counted with it, however busy the machine
        made = {name: counts[name] - before[name] for name in counts}
        every.append({**made, "modules": len(sys.modules) - modules, "stage": stage})
    return every

print(json.dumps(asyncio.run(turns())))
engine.close()
"""
TURNS = (
    "What is my dog called?",
    "What did I buy three days ago?",
    "What have we talked about lately?",
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, clock = tmp_path_factory.mktemp("first") / "memory", FixedClock()
    engine = MemoryEngine(memory_config(path), clock=clock, embedder=HashEmbedder(64, token_dim=32))
    for day in range(DAYS):
        for n in range(3):
            at = clock() - timedelta(days=DAYS - day, minutes=-n)
            text = f"Yesterday I bought {n + 2} boxes of word{day}{n}. My dog is called Max."
            engine.append(turn_at(text, at, session=f"s{day}"))
    engine.flush(indexed=True)
    engine.close()
    return path


def first_turns(path: Path, how: str) -> list[dict]:
    """The turns of a new process, each of them twice; what they made, read and collected."""
    return json.loads(printed_by(FRESH, path, how, json.dumps(TURNS)).splitlines()[-1])


def test_first_turns_make_read_and_collect_nothing_that_later_ones_do_not(filled):
    found = first_turns(filled, "prepared")
    assert [turn["stage"] for turn in found] == ["full"] * 6
    for name in ("patterns", "modules", "collections"):
        assert [turn[name] for turn in found[:3]] == [0, 0, 0], name
    first, again = ([turn["rows"] for turn in found[n : n + 3]] for n in (0, 3))
    assert all(a <= b + 1 for a, b in zip(first, again, strict=True)), (first, again)


def test_first_turns_control_without_preparation_they_do_it_all(filled):
    found = first_turns(filled, "at once")[:3]
    assert sum(turn["patterns"] for turn in found) > 20
    assert max(turn["rows"] for turn in found) > DAYS


# ------------------------------------------------------------------- what an agent does not need to talk is not imported when it starts, nor before t

HEAVY, JOBS, RULES = (listed_texts("first_turns", part) for part in ("heavy", "jobs", "rules"))
OPEN = """
import sys
{first}
from slowcat_memory.config import load
from slowcat_memory.engine import MemoryEngine
from msgspec.structs import replace
config = load(None, environ={{}})
config = replace(
    config,
    memory=replace(config.memory, path={path!r}),
    embedding=replace(config.embedding, kind="none"),
)
{then}
print(*sys.modules, sep="\\n")
"""
SAY = """
from datetime import UTC, datetime
from slowcat_memory.records import Turn
engine = MemoryEngine(config)
said = dict(scope="user", session="s", speaker="Anna", role="user", at=datetime.now(UTC))
engine.append(Turn(text="Our cat Minka sleeps in the piano", **said)).wait(None)
engine.close()
"""
ASK = """
from slowcat_memory.runtime.namespaces.registry import Namespace
Namespace._finish_soon = lambda self: None  # what is read behind the first answer
engine = MemoryEngine(config)
assert engine.search("where does the cat sleep", "user").hits
"""


def _modules(path: Path, then: str = "", first: str = "") -> set[str]:
    return set(printed_by(OPEN.format(path=str(path), then=then, first=first)).split())


def _own(*names: str) -> set[str]:
    return {f"slowcat_memory.{name}" for name in names}


def test_the_processor_is_imported_without_jobs_or_rules(tmp_path):
    loaded = _modules(tmp_path, first="import slowcat_memory.processor")
    assert not loaded & _own(*JOBS, *RULES)
    assert "slowcat_memory.processor" in loaded


def test_the_first_answer_needs_no_job_and_no_heavy_package(tmp_path):
    _modules(tmp_path / "store", SAY)
    loaded = _modules(tmp_path / "store", ASK)
    assert not loaded & (_own(*JOBS) | set(HEAVY))
    assert "slowcat_memory.engine.engine" in loaded


# ------------------------------------------------------------------- what the first turn needs is compiled before it, and not while the package is imported

COMPILING = """
import re
made, compile_pattern = [], re.compile
def counting(*arguments, **named):
    made.append(str(arguments[0]))
    return compile_pattern(*arguments, **named)
from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.language import ENGLISH
from slowcat_memory.core.query.recall_gate import judge
from slowcat_memory.runtime.recall.prefetch import compile_patterns
print("compiled" if "_compiled" in vars(ENGLISH.gate.world) else "lazy")
compile_patterns("english", "Juno")
re.compile = counting
for said in ("please delete what I said about Lisa", "forget that, Juno", "what is my dog called?"):
    heard = Heard(said, names=("Juno",))
    heard.command(), heard.asks_change(), judge(said)
print(len(made))
"""


def test_first_turn_compiles_no_pattern_once_they_are_prepared():
    assert printed_by(COMPILING).split() == ["lazy", "0"]
