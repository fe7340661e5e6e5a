"""Fixtures shared by all tests: a store of the test's own, with or without the real model."""

import asyncio
import inspect
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from loguru import logger

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.index.generation import Build
from slowcat_memory.providers import EmbedderOptions, export_model, open_llm, open_query_embedder
from tests.support.engine_home import Home
from tests.support.parroting_llm import Mind
from tests.support.stores import build_in_a_fork, configured

settings.register_profile(  # nothing is judged by time: a busy machine is no fault
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
os.environ["SLOWCAT_CONFIG"] = ""  # no test, nor a process it starts, reads ~/.slowcat/config.toml
os.environ["SLOWCAT_IDLE_LLM__URL"] = ""  # no test looks for an LLM at the ports of this machine
open_llm.__defaults__ = ((),)
SHARED_MEMORY = Path("/dev/shm")
if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > 4 << 30:
    # A disk takes 10 ms for each commit, which is most of the time of a test that writes.
    tempfile.tempdir = os.environ["TMPDIR"] = str(SHARED_MEMORY)
os.environ.pop("PYTHONUNBUFFERED", None)  # what a process prints waits in its buffer, as at home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what runs programs for long: at the end, the other workers would wait for it."""
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "harness"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine, in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), 300))
    return True


@pytest.fixture(autouse=True)
def synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system say that its time is right, whatever the machine of the tests says."""
    monkeypatch.setattr("slowcat_memory.clock.kernel_is_synchronised", lambda: True)


@pytest.fixture(autouse=True)
def quick_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no Python for each index: the harnesses and the examples, which are programs, do."""
    monkeypatch.setattr(Build, "_run", build_in_a_fork)


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """What is logged, at any level, which comes first."""
    found: list[str] = []
    form = "{level} {message}"
    sink = logger.add(lambda line: found.append(str(line).strip()), level="TRACE", format=form)
    yield found
    logger.remove(sink)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """A store in the test's own folder; words alone, no model, and a low bar for what is offered."""
    return configured(tmp_path / "memory", recall={"floor": 0.005})


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A folder in which engines are opened one after another; they are closed at the end."""
    made = Home(tmp_path)
    yield made
    for engine in made.engines:
        engine.close()


@pytest.fixture
def engine(home: Home) -> MemoryEngine:
    """An engine in that folder."""
    return home.open()


@pytest.fixture
def mind(tmp_path: Path) -> Iterator[Mind]:
    """An engine for idle work, without an LLM."""
    made = Mind(tmp_path / "store")
    yield made
    made.close()


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that holds the exported model, made once for all tests."""
    given = os.environ.get("SLOWCAT_CACHE_DIR")
    folder = Path(given) if given else tmp_path_factory.mktemp("models")
    os.environ["SLOWCAT_CACHE_DIR"] = str(folder)
    try:
        yield folder
    finally:
        if not given:
            del os.environ["SLOWCAT_CACHE_DIR"]


@pytest.fixture
def model_config(tmp_path: Path, model_cache: Path) -> Config:
    """A store in the test's own folder, with the real embedding model."""
    options = EmbedderOptions()
    report = open_query_embedder(options)[1]
    if report.state == "needs export":
        export_model(options)
        report = open_query_embedder(options)[1]
    if report.state != "ready":
        pytest.skip(f"no embedding model: {report.source}. {report.hint}")
    return configured(tmp_path / "memory", embedding={"kind": "local"})
