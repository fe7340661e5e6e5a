"""No log above DEBUG holds what somebody said: not in a message, not in a traceback."""

import ast
import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from loguru import logger

import slowcat_memory
from slowcat_memory import errors
from slowcat_memory.engine import availability
from slowcat_memory.errors import SlowcatError, StoreError, describe_error
from slowcat_memory.fleet.holding import Holding
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.scheduler.step import StepResult, batch_of
from slowcat_memory.mcp import answers, memory_server
from slowcat_memory.metrics import Metrics
from slowcat_memory.processor.reports import FrameGuard
from slowcat_memory.records import Task
from slowcat_memory.web import safety
from tests.support.engine_home import Home
from tests.support.rows import each_listed

SAID = "my sister's safe opens with the quokka sentence"
PACKAGE = Path(slowcat_memory.__file__).parent


def fail(*_: object, **__: object) -> Any:
    said = [SAID]
    raise KeyError(said[0])


@pytest.fixture
def log() -> Iterator[list[str]]:
    """What loguru's default sink would write above DEBUG, with the values of variables."""
    lines: list[str] = []
    sink = logger.add(
        lambda message: lines.append(str(message)), level="INFO", diagnose=True, backtrace=True
    )
    yield lines
    logger.remove(sink)


# ------------------------------------------------------------------- paths of a failure


def guard(home: Home, patch: pytest.MonkeyPatch) -> None:
    FrameGuard(SimpleNamespace(), fail).run(fail, SAID)  # type: ignore[arg-type]


def failure(home: Home) -> KeyError:
    """Return an error that has passed a line of the package."""
    upkeep = home.open().upkeep
    upkeep.expiry.orders = fail  # type: ignore[method-assign]
    with pytest.raises(KeyError) as raised:
        upkeep.erase_expired()
    return raised.value


def indexer(home: Home, patch: pytest.MonkeyPatch) -> None:
    engine = home.open()
    engine.indexer.soon(fail, SAID)
    engine.flush(indexed=True)


def idle_result(home: Home, patch: pytest.MonkeyPatch) -> None:
    task = Task(id="facts/anna/1", job="facts", key="1", created=datetime(2026, 5, 12, tzinfo=UTC))
    result = StepResult(ms=1.0, error=failure(home))
    job: Any = SimpleNamespace(name="facts")
    batch, _ = batch_of(job, task, result, task.created, IdleOptions())
    assert "KeyError" in batch.tasks[0].error and "quokka" not in batch.tasks[0].error


def page(home: Home, patch: pytest.MonkeyPatch) -> None:
    wrapped = RuntimeError(SAID)
    wrapped.__cause__ = failure(home)
    safety.refused(wrapped)


def writer(home: Home, patch: pytest.MonkeyPatch) -> None:
    engine = home.open()
    with patch.context() as patched:
        patched.setattr(engine.store._checked_writer(), "_save", fail)
        ack = engine.append(home.turn(SAID))
        with pytest.raises(StoreError) as raised:
            ack.wait()
    assert "quokka" not in str(raised.value)


def writer_listeners(home: Home, patch: pytest.MonkeyPatch) -> None:
    writing = home.open().store._checked_writer()
    patch.setattr(writing, "on_trouble", fail)
    patch.setattr(writing, "on_back", fail)
    writing._report(StoreError("the disk is full"))
    writing._pause = 1.0
    writing._end_trouble()


def listener(home: Home, patch: pytest.MonkeyPatch) -> None:
    availability._tell([(fail, fail)], SAID)


def holding(home: Home, patch: pytest.MonkeyPatch) -> None:
    lease: Any = SimpleNamespace(forget_epoch=0, snapshot_upto=0, last_seq=0)
    worker: Any = SimpleNamespace(database=None, holdings={}, cache=home.path, tenant="")
    patch.setattr("slowcat_memory.fleet.holding.hydrate", lambda *_: (home.path, False))
    patch.setattr(Holding, "_send_all", fail)
    lost: list[Any] = []
    Holding(worker, "anna", Metrics(), lease=lease, on_trouble=lost.append)._run()
    assert "quokka" not in str(lost[0])


def mcp(home: Home, patch: pytest.MonkeyPatch) -> None:
    engine = home.open()
    patch.setattr(answers, "_words", fail)
    tools = memory_server.MemoryTools(lambda: engine, "anna")
    asyncio.run(tools.call(next(iter(tools.tools)), {"query": SAID}, "host"))


@pytest.mark.parametrize(
    "provoke",
    [guard, indexer, idle_result, page, writer, writer_listeners, listener,
     holding, mcp],
    ids=lambda provoke: provoke.__name__,
)  # fmt: skip
def test_logs_a_failure_is_located_and_quotes_nobody(home, log, monkeypatch, provoke):
    provoke(home, monkeypatch)
    assert any("KeyError" in line and "slowcat_memory/" in line for line in log), log
    assert "quokka" not in "".join(log)


# ------------------------------------------------------------------- the description


def test_describe_error_names_the_innermost_line_of_the_package(home):
    found = describe_error(failure(home))
    assert found.startswith("KeyError at slowcat_memory/engine/upkeep.py:")


def test_describe_error_names_the_causes_and_no_message_but_ours():
    try:
        try:
            fail()
        except KeyError as error:
            raise ValueError(SAID) from error
    except ValueError as error:
        assert describe_error(error) == "ValueError, caused by KeyError"
    assert describe_error(StoreError("the disk is full", hint="Make room")) == (
        "StoreError: the disk is full"
    )


# ------------------------------------------------------------------- what is passed to the logger

LOGGING = {"trace", "debug", "info", "success", "warning", "error", "critical", "log"}
OURS = {
    name for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, SlowcatError)
}  # fmt: skip
SHOWN = {"message", "hint", "strerror"}  # of an error: these hold no text


def names_of(kind: ast.expr | None) -> set[str]:
    parts = ast.walk(kind) if kind else ()
    return {part.id for part in parts if isinstance(part, ast.Name)}


def foreign_errors(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield what binds an error that may quote somebody: (its body, its name)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and node.name and names_of(node.type) - OURS:
            yield node, node.name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for argument in (*node.args.args, *node.args.kwonlyargs):
                kinds = names_of(argument.annotation)
                if {k for k in kinds if k.endswith(("Error", "Exception"))} - OURS:
                    yield node, argument.arg


def passed_on(call: ast.Call, name: str) -> bool:
    """Return whether a call's arguments show an error otherwise than described."""
    stack: list[ast.AST] = [*call.args, *call.keywords]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call) and names_of(node.func) & {"describe_error", "type"}:
            continue
        if isinstance(node, ast.Attribute) and node.attr in SHOWN:
            continue
        if isinstance(node, ast.Name) and node.id == name:
            return True
        stack += ast.iter_child_nodes(node)
    return False


def careless(source: str) -> list[int]:
    tree, lines = ast.parse(source), list[int]()
    calls = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        and "logger" in names_of(node.func)
    ]  # fmt: skip
    for call in calls:
        named = {keyword.arg for keyword in call.keywords}
        if call.func.attr == "exception" or named & {"exception", "exc_info"}:  # type: ignore[attr-defined]
            lines.append(call.lineno)
    for body, name in foreign_errors(tree):
        inside = {id(node) for node in ast.walk(body)}
        lines += [
            call.lineno for call in calls
            if id(call) in inside and call.func.attr in LOGGING and passed_on(call, name)  # type: ignore[attr-defined]
        ]  # fmt: skip
    return sorted(lines)


def test_logs_no_call_passes_an_error_to_the_logger():
    found = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if "logger" in (source := path.read_text("utf-8")) and (lines := careless(source))
    }
    assert not found


@each_listed("log_calls")
def test_logs_a_careless_call_is_found(body):
    assert careless(f"try:\n    f()\nexcept Exception as error:\n    {body}\n") == [4]


@each_listed("log_calls")
def test_logs_a_careful_call_is_not(kind, body):
    assert careless(f"try:\n    f()\nexcept {kind} as error:\n    {body}\n") == []
