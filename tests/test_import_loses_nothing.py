"""Import: two people's sessions of one name, ids that begin anew, bad lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slowcat_memory import transfer
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.testing import memory_config
from slowcat_memory.transfer.import_ import Imported, Where, import_reading
from slowcat_memory.transfer.reading import Options, readings
from tests.harness import import_trips


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MemoryEngine]:
    engine = MemoryEngine(memory_config(tmp_path / "memory"))
    yield engine
    engine.close()


def imported(engine: MemoryEngine, path: Path, *rows: Any, **options: Any) -> list[str]:
    """Write and import a file; return what it could not read."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    faults: list[str] = []
    transfer.import_file(engine, path, on_error=lambda e: faults.append(e.message), **options)
    return faults


def texts(engine: MemoryEngine, scope: str) -> list[str]:
    with engine.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns(scope)]


def test_sessions_of_one_name_in_two_scopes_stay_apart(
    engine: MemoryEngine, tmp_path: Path
) -> None:
    rows = [
        {"scope": scope, "session": "1", "id": str(n), "text": text}
        for scope in ("dora", "cleo")
        for n, text in enumerate((f"I am {scope}", "Good night"), 1)
    ]
    assert imported(engine, tmp_path / "chat.jsonl", *rows) == []
    assert texts(engine, "dora") == ["I am dora", "Good night"]
    assert texts(engine, "cleo") == ["I am cleo", "Good night"]
    with engine.snapshot() as snapshot:
        assert [len(snapshot.sessions(scope)) for scope in ("dora", "cleo")] == [1, 1]
    imported(engine, tmp_path / "chat.jsonl", *rows)
    assert texts(engine, "cleo") == ["I am cleo", "Good night"]


def test_ids_that_begin_anew_are_new_turns(engine: MemoryEngine, tmp_path: Path) -> None:
    rows = [{"session": "a", "id": str(n), "text": f"first {n}"} for n in range(9)]
    more = [{"session": "a", "id": str(n), "text": f"second {n}"} for n in range(6)]
    imported(engine, tmp_path / "chat.jsonl", *rows)
    imported(engine, tmp_path / "chat.jsonl", *rows, *more)
    assert texts(engine, "user") == [row["text"] for row in (*rows, *more)]


def test_what_was_forgotten_stays_forgotten_when_its_file_grows(
    engine: MemoryEngine, tmp_path: Path
) -> None:
    rows = [{"speaker": name, "text": f"{name} {n}"} for n in range(3) for name in ("Ben", "Eva")]
    imported(engine, tmp_path / "chat.jsonl", *rows)
    engine.forget(Forget(speaker="Ben"))
    imported(engine, tmp_path / "chat.jsonl", *rows, {"speaker": "Ben", "text": "Ben is back"})
    assert texts(engine, "user") == ["Eva 0", "Eva 1", "Eva 2", "Ben is back"]


def test_a_file_is_known_again_when_somebody_says_who_the_user_is(
    engine: MemoryEngine, tmp_path: Path
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("Luna: Hello.\nanna: My dog is called Max.\n", encoding="utf-8")
    for me in ("", "Anna"):
        options = Options(me=me, agents=frozenset({"luna"} if me else ()))
        for reading in readings(path, options, pytest.fail, pytest.fail):
            done = Imported()
            import_reading(engine, reading, Where(), done, on_error=pytest.fail)
    assert (done.turns, done.known_turns) == (0, 2)


def test_marks_are_made_after_an_import_that_was_killed_before(
    engine: MemoryEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"text": "My PIN is 4711", "pinned": True}, {"text": "I like tea"}]
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(engine, "mark", lambda *args, **how: (_ for _ in ()).throw(KeyboardInterrupt))
        imported(engine, tmp_path / "chat.jsonl", *rows)
    imported(engine, tmp_path / "chat.jsonl", *rows)
    with engine.snapshot() as snapshot:
        turns = [turn.id for turn in snapshot.turns("user")]
        marks = [snapshot.read("user", f"chunk/{id}").pinned for id in turns]  # type: ignore[union-attr]
    assert marks == [True, False]


@pytest.mark.parametrize(
    "bad",
    [
        '{"text": "x", "scope": "../../x"}',
        '{"text": "x", "at": "9998-12-31T23:00-14:00"}',
        '{"text": "x", "at": 17}',
        '{"text": ["x"]}',
        '{"note": "x", "importance": NaN}',
        '{"text": "x", "role": {"a": 1}}',
        "[[[[",
        '"text"',
        '{"sessions": 3}',
    ],
)
def test_one_bad_line_is_named_and_the_rest_comes_in(
    engine: MemoryEngine, tmp_path: Path, bad: str
) -> None:
    rows = [{"text": "before"}, bad, {"text": "after"}]
    [fault] = imported(engine, tmp_path / "chat.jsonl", *rows)
    assert fault.startswith("line 2: ")
    assert texts(engine, "user") == ["before", "after"]


@pytest.mark.parametrize("odd", [{"cut": 10**20}, {"tools": ["t" * 999] * 9999}, {"id": "9" * 999}])
def test_odd_values_cost_nothing_but_themselves(
    engine: MemoryEngine, tmp_path: Path, odd: dict[str, Any]
) -> None:
    assert imported(engine, tmp_path / "chat.jsonl", {"text": "said", **odd}) == []
    assert texts(engine, "user") == ["said"]


def test_random_transcripts_lose_double_leak_and_revive_nothing(tmp_path: Path) -> None:
    assert import_trips.run(tmp_path, 8, 3, "", kills=False)["faults"] == []


@pytest.mark.parametrize("control", ["name", "forgotten"])
def test_random_transcripts_show_a_planted_fault(tmp_path: Path, control: str) -> None:
    assert import_trips.run(tmp_path, 2, 3, control, kills=False)["faults"]
