"""What an agent does not need to talk is not imported when it starts, nor before the first answer."""

import os
import subprocess
import sys
from pathlib import Path

import slowcat_memory

HEAVY = {
    *("onnxruntime", "tokenizers", "faiss", "bm25s", "numba", "scipy"),
    *("torch", "sentence_transformers", "openai", "httpx"),
}
JOBS = ("idle.registry", "idle.scheduler.loop", "idle.jobs.extraction", "idle.jobs.summaries")
RULES = (
    "core.graph.readings",
    "core.facts.prompt",
    "core.extraction.stated",
    "core.summaries.by_rule",
)
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
from slowcat_memory.runtime.namespaces.namespace import Deferred
Deferred.begin = lambda self: None  # what is read behind the first answer
engine = MemoryEngine(config)
assert engine.search("where does the cat sleep", "user").hits
"""


def _modules(path: Path, then: str = "", first: str = "") -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", OPEN.format(path=str(path), then=then, first=first)],
        cwd=Path(slowcat_memory.__file__).parents[1],
        env={name: value for name, value in os.environ.items() if not name.startswith("SLOWCAT_")},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def _own(*names: str) -> set[str]:
    return {f"slowcat_memory.{name}" for name in names}


def test_the_processor_is_imported_without_jobs_or_rules(tmp_path: Path) -> None:
    loaded = _modules(tmp_path, first="import slowcat_memory.processor")
    assert not loaded & _own(*JOBS, *RULES)
    assert "slowcat_memory.processor" in loaded


def test_the_first_answer_needs_no_job_and_no_heavy_package(tmp_path: Path) -> None:
    _modules(tmp_path / "store", SAY)
    loaded = _modules(tmp_path / "store", ASK)
    assert not loaded & (_own(*JOBS) | HEAVY)
    assert "slowcat_memory.engine.engine" in loaded
