"""idle and jobs: thinking without a bot, and what becomes of it."""

import socket
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from slowcat_memory.engine.idle import IdleWork
from slowcat_memory.records import Run, Task, WriteBatch
from slowcat_memory.store import Store
from tests.support.idle_doubles import task
from tests.support.said import turn

AT = datetime(2026, 5, 12, 18, 30, tzinfo=UTC)


def ran(task: Task, outcome="done", ms=2000.0, **given) -> Run:
    return Run(task=task.id, job=task.job, at=AT, ms=ms, outcome=outcome, **given)


@pytest.fixture
def filled(sm):
    """A store with one task that waits, one that failed once, and two that were given up."""
    dead = [
        task(str(n), "notes", attempts=3, state="dead", error=f"BadAnswerError: no {n}")
        for n in (1, 2)
    ]
    later = task("3", "notes", attempts=1, error="TimeoutError", not_before=AT)
    with Store.open(sm.store) as store:
        store.append(turn("hello", id=0)).wait()
        store.apply("t", WriteBatch(tasks=(*dead, later, task("4", "other")))).wait()
        done = ran(task("9", "notes"), tokens_in=80, tokens_out=20, made=1)
        store.apply("t", WriteBatch(run=done)).wait()
        store.apply("t", WriteBatch(run=ran(dead[0], "dead", error="BadAnswerError: no 1"))).wait()
    return sm


# ------------------------------------------------------------------- jobs


def test_idle_jobs_shows_what_waits_what_was_given_up_and_what_was_done(filled) -> None:
    said = filled.ok("show", "jobs")
    words = ("waiting", "notes", "other", "failed", "notes/anna/1", "Last runs", "dead", "100")
    assert [word for word in words if word not in said] == []
    assert "hello" not in said


def test_idle_retry_makes_a_task_as_good_as_new(filled, monkeypatch) -> None:
    monkeypatch.setattr(IdleWork, "until_done", lambda *args: 0)
    assert "2 tasks will be tried again" in filled.ok("idle", "--retry")
    rows = filled.json("show", "jobs")["tasks"]
    assert all(row.get("state", "waiting") == "waiting" for row in rows)


# ------------------------------------------------------------------- idle


def test_idle_does_what_is_due_and_ends(sm, monkeypatch) -> None:
    monkeypatch.setenv("SLOWCAT_IDLE__GRACE_S", "0")
    (sm.folder / "chat.txt").write_text("Anna: My dog is called Max.\nAssistant: What a name!\n")
    sm.ok("import", "chat.txt", "--date", "2024-05-01")
    result = sm("idle")
    assert result.exit_code == 0 and "Nothing is left to do." in result.stdout
    assert "LLM: none configured ([idle_llm] url)" in result.stderr


@pytest.mark.parametrize(
    ("left", "code", "said"),
    [
        (3, 1, "3 tasks left"),
        (0, 1, "2 tasks given up"),
        (KeyboardInterrupt, 130, "Unfinished tasks"),
    ],
)
def test_idle_what_is_left_or_given_up_is_told_by_the_code(filled, monkeypatch, left, code, said):
    monkeypatch.setattr(IdleWork, "until_done", Mock(side_effect=[left]))
    result = filled("idle")
    assert result.exit_code == code and said in result.stderr
    assert "Nothing is left" not in result.stdout
    assert left != 0 or "idle --retry" in " ".join(result.stderr.split())


# ------------------------------------------------------------------- what cannot be done


def test_idle_says_that_the_llms_server_does_not_answer(sm, monkeypatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("SLOWCAT_IDLE__GRACE_S", "0")
    monkeypatch.setenv("SLOWCAT_IDLE__REST_S", "0.05")
    monkeypatch.setenv("SLOWCAT_IDLE_LLM__URL", f"http://127.0.0.1:{port}/v1")
    monkeypatch.setattr("slowcat_memory.idle.scheduler.loop.SERVER_PATIENCE_S", 0.2)
    (sm.folder / "chat.txt").write_text("Anna: My dog is called Max.\nAssistant: What a name!\n")
    sm.ok("import", "chat.txt", "--date", "2024-05-01")
    result = sm("idle")
    said = " ".join(result.stderr.split())
    assert result.exit_code == 1 and "✓" not in result.stdout
    assert f"the LLM's server at 127.0.0.1:{port} does not answer" in said
    assert f"no model server answers at http://127.0.0.1:{port}/v1" in said
    assert "[idle_llm] url" in said and "contextualize 1" in said and "tasks left" in said
