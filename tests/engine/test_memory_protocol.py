"""The one memory and its doors: its size, its contract, its users."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import slowcat_memory
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.wiring import EngineWiring

PACKAGE = Path(slowcat_memory.__file__).parent
DOORS = ("processor", "tools", "mcp", "web", "cli", "replay", "transfer", "testing")
NAMES = ("engine", "_engine")  # what doors call a memory: a name, or an attribute of something
MOST_VERBS = 20
COMPONENTS = vars(EngineWiring).keys() - vars(MemoryEngine).keys() - {"apply"}
VERBS = {name for name, _ in inspect.getmembers(MemoryEngine, callable) if name[0] != "_"}
VERBS -= COMPONENTS
ATTRIBUTES = {
    *("availability", "clock", "closed", "config", "embedding", "metrics", "opened"),
    *("blocks", "icebreakers", "idle", "readonly", "upkeep", "zone"),
    *("catalogue", "reader", "snapshot"),
}


def test_memory_engine_has_few_verbs():
    assert len(VERBS) <= MOST_VERBS, sorted(VERBS)


def foreign_attributes(source: str) -> Iterator[str]:
    """Yield each use of a memory's attribute that belongs to its components."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Attribute) or node.attr in VERBS | ATTRIBUTES:
            continue
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        if name in NAMES and not isinstance(owner, ast.Call):
            yield f"{ast.unparse(node)} (line {node.lineno})"


@pytest.mark.parametrize("door", DOORS)
def test_memory_engine_doors_use_nothing_else_of_a_memory(door):
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
        "class A:\n    def f(self):\n        self._engine.indexer.drain()",
        "def f(call):\n    call.engine.notes.put(call)",
    ],
)
def test_memory_engine_foreign_attributes_are_caught(planted):
    assert len(list(foreign_attributes(planted))) == 1
