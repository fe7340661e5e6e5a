"""The protocol between the engine and its doors: its size, its implementations, its users."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import slowcat_memory
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.owner.member import Member
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from slowcat_memory.testing.memory_contract import check_memory
from tests.support.rows import each_row

PACKAGE = Path(slowcat_memory.__file__).parent
DOORS = ("processor", "tools", "cli", "replay", "transfer", "testing")
NAMES = ("engine", "_engine")  # what doors call a memory: a name, or an attribute of something
MOST_VERBS = 27
VERBS = {
    name
    for name, member in vars(MemoryEngine).items()
    if inspect.isfunction(member) and not name.startswith("_")
}
ATTRIBUTES = {*MemoryEngine.__annotations__} | {
    name for name, member in vars(MemoryEngine).items() if isinstance(member, property)
}


def test_memory_protocol_has_few_verbs() -> None:
    assert len(VERBS) <= MOST_VERBS, sorted(VERBS)


@each_row("kind", [MemoryEngine, Member])
@each_row("verb", sorted(VERBS))
def test_memory_engine_implements_each_verb_with_the_same_signature(verb: str, kind: type) -> None:
    ours, theirs = getattr(kind, verb), getattr(MemoryEngine, verb)
    assert inspect.signature(ours, eval_str=True) == inspect.signature(theirs, eval_str=True)
    assert inspect.iscoroutinefunction(ours) == inspect.iscoroutinefunction(theirs)


def test_memory_engine_has_each_attribute(tmp_path: Path) -> None:
    engine = MemoryEngine(memory_config(tmp_path), embedder=HashEmbedder(), clock=FixedClock())
    try:
        assert [name for name in sorted(ATTRIBUTES) if not hasattr(engine, name)] == []
    finally:
        engine.release()


def test_memory_engine_keeps_the_contract(tmp_path: Path) -> None:
    def open_memory() -> MemoryEngine:
        return MemoryEngine(
            memory_config(tmp_path, idle={"enabled": False}), embedder=HashEmbedder()
        )

    check_memory(open_memory)


def foreign_attributes(source: str) -> Iterator[str]:
    """Yield each use of a memory's attribute that is not part of the protocol."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Attribute) or node.attr in VERBS | ATTRIBUTES:
            continue
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        if name in NAMES and not isinstance(owner, ast.Call):
            yield f"{ast.unparse(node)} (line {node.lineno})"


@pytest.mark.parametrize("door", DOORS)
def test_memory_protocol_doors_use_nothing_else_of_a_memory(door: str) -> None:
    found = {
        str(path.relative_to(PACKAGE)): uses
        for path in sorted((PACKAGE / door).rglob("*.py"))
        if (uses := list(foreign_attributes(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "planted",
    [
        "def f(engine):\n    return engine.store.snapshot()",
        "class A:\n    def f(self):\n        self._engine.wiring.indexer.drain()",
        "def f(call):\n    call.engine.upkeep.seal('anna')",
        "async def f(engine):\n    await asyncio.to_thread(engine.close)",
    ],
)
def test_memory_protocol_foreign_attributes_are_caught(planted: str) -> None:
    assert len(list(foreign_attributes(planted))) == 1


def test_memory_protocol_foreign_attributes_lets_the_protocol_pass() -> None:
    source = (
        "with engine.snapshot() as s:\n    engine.clock()\nwith known.engine(readonly=True): ..."
    )
    assert list(foreign_attributes(source)) == []
