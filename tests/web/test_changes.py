"""What a person can change on the page, that it holds, can be taken back, and reaches a bot beside it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.web import PageContext, verbs
from tests.support.memories import Look
from tests.support.other_process import OtherProcess
from tests.support.page_client import Client, Events, entered
from tests.support.page_memory import ANNA, MONDAY, Running, furnish, page_of
from tests.support.said import until
from tests.support.stores import configured

# ------------------------------------------------------------------- what a person can change on the page, that it holds, and that it can be taken ba


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order to forget is due at once."""
    monkeypatch.setattr(verbs, "WINDOW_S", 0.05)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with page_of(configured(tmp_path / "memory", recall={"floor": 0.005})) as made:
        yield made


@pytest.fixture
def client(running: Running) -> Client:
    return entered(running)


def fact(client: Client, words: str) -> dict:
    rows = client.read("know/facts?past=1")["rows"]
    return next(row for row in rows if words in row["text"])


def recalled(page: PageContext, question: str) -> list[str]:
    return [hit.memory.text for hit in page.memory.search(question, ANNA, 5, local=True).hits]


@pytest.mark.parametrize("name", ["pinned", "muted", "local_only"])
def test_a_mark_is_set_and_taken_back(client: Client, name: str) -> None:
    one = fact(client, "cello")
    done = client.done("mark", id=one["id"], **{name: True})
    assert done["memory"][name]
    assert fact(client, "cello")[name]
    assert client.undo(done).status == 200
    assert not fact(client, "cello")[name]


def test_what_is_muted_is_not_pinned_until_that_is_taken_back(client: Client) -> None:
    id_ = fact(client, "cello")["id"]
    client.done("mark", id=id_, pinned=True)
    muted = client.done("mark", id=id_, muted=True)
    assert not muted["memory"]["pinned"]
    assert client.undo(muted).status == 200
    now = fact(client, "cello")
    assert now["pinned"] and not now["muted"]


def test_what_is_muted_is_listed_and_not_recalled(client: Client, running: Running) -> None:
    words = "I play the cello on Thursdays."
    turn = next(r for r in client.read("said/turns?session=anna-1")["rows"] if r["text"] == words)
    assert words in recalled(running.page, "Who plays the cello?")
    done = client.done("mark", id=turn["id"], muted=True)
    assert words not in recalled(running.page, "Who plays the cello?")
    assert words in json.dumps(client.read("said/turns?session=anna-1"))
    assert client.undo(done).status == 200
    assert words in recalled(running.page, "Who plays the cello?")


def test_a_correction_takes_the_place_of_a_fact_and_can_be_taken_back(client: Client) -> None:
    one = fact(client, "27 March")
    done = client.done("correct", id=one["id"], text="Anna sees the dentist on 28 March.")
    now = [row["text"] for row in client.read("know/facts")["rows"]]
    assert one["text"] not in now
    assert done["memory"]["text"] == "Anna sees the dentist on 28 March."
    assert done["memory"]["how"] == "yours"
    assert client.undo(done).status == 200
    now = [row["text"] for row in client.read("know/facts")["rows"]]
    assert one["text"] in now and done["memory"]["text"] not in now


def test_a_block_is_rewritten_by_hand(client: Client) -> None:
    block = next(r for r in client.read("know/blocks")["rows"] if r["label"] == "human")
    done = client.done("correct", id=block["id"], text="Anna is a cellist.")
    shown = {r["label"]: r for r in client.read("know/blocks")["rows"]}
    assert (shown["human"]["text"], shown["human"]["owner"]) == ("Anna is a cellist.", "user")
    assert client.undo(done).status == 200
    shown = {r["label"]: r for r in client.read("know/blocks")["rows"]}
    assert shown["human"]["text"] == block["text"]


def test_what_is_to_be_forgotten_is_hidden_at_once_until_that_is_undone(client, running):
    words = "I play the cello on Thursdays."
    done = client.done("forget", session="anna-1")
    assert words not in recalled(running.page, "Who plays the cello?")
    assert "cello" not in json.dumps(client.read("know/facts"))
    assert client.undo(done).status == 200
    assert words in recalled(running.page, "Who plays the cello?")
    assert "cello" in json.dumps(client.read("know/facts"))
    assert client.undo(done).status == 410


def test_what_was_replaced_is_forgotten_by_its_id_and_comes_back_as_it_was(client, monkeypatch):
    old = next(row for row in client.read("know/facts?past=1")["rows"] if row["retired"])
    assert client.undo(client.done("forget", id=old["id"])).status == 200
    assert old in client.read("know/facts?past=1")["rows"]
    monkeypatch.setattr(verbs, "WINDOW_S", 0.05)
    client.done("forget", id=old["id"])
    assert until(lambda: client.ask("GET", f"/api/know/memory?id={old['id']}").status == 404)
    assert client.change("forget", id=old["id"]).status == 404


def test_an_order_that_another_door_took_back_is_not_carried_out(client, running, monkeypatch):
    monkeypatch.setattr(verbs, "WINDOW_S", 1.0)
    client.done("forget", session="anna-0")
    (order,) = Look(running.page.memory).commands(ANNA)
    assert running.page.memory.undo(order)
    time.sleep(1.2)
    assert client.ask("GET", "/api/said/turns?session=anna-0").status == 200


def test_what_is_forgotten_is_gone(client: Client, soon: None) -> None:
    done = client.done("forget", session="anna-0")
    assert until(lambda: client.ask("GET", "/api/said/turns?session=anna-0").status == 404)
    assert "York" not in json.dumps(client.read("know/facts?past=1"))
    assert client.undo(done).status == 410


def test_a_range_is_forgotten(client: Client, soon: None) -> None:
    since, until_ = MONDAY + timedelta(days=6), MONDAY + timedelta(days=8)
    order = {"since": since.isoformat(), "until": until_.isoformat()}
    assert client.done("forget/preview", **order)["turns"] == 6
    client.done("forget", **order)
    assert until(lambda: conversations(client) == ["anna-2", "anna-0"])


def conversations(client: Client) -> list[str]:
    return [row["id"] for row in client.read("said/conversations")["rows"]]


@pytest.mark.parametrize(
    "order",
    [{}, {"id": ""}, {"since": "2026-01-01T00:00:00+00:00"}, {"everything": True}, {"scope": ANNA}],
)
def test_nothing_is_forgotten_without_saying_what(client: Client, order: dict) -> None:
    assert client.change("forget/preview", **order).status == 400
    assert client.change("forget", **order).status == 400


def test_a_wrong_memory_is_judged_and_the_judgement_taken_back(client, running):
    turn = client.read("why/recalls")["rows"][0]["turn"]
    offered = client.read(f"why/turn?turn={turn}")["rows"][0]["id"]

    def judged() -> list[float]:
        keys = Look(running.page.memory).keys(ANNA, offered)
        return [key.weight for key in keys if key.kind == "asked"]

    done = client.done("wrong", turn=turn, id=offered)
    assert judged() == [-1.0]
    assert client.undo(done).status == 200
    assert judged() == []


def test_idle_work_that_the_page_began_is_stopped(client: Client, running: Running) -> None:
    begun = threading.Event()

    def endless(progress: Callable[[object], None]) -> int:
        begun.set()
        while True:
            progress(None)
            time.sleep(0.01)

    running.page.memory.idle.until_done = endless  # type: ignore[method-assign,assignment]  # never done
    with ThreadPoolExecutor(1) as thread:
        thinking = thread.submit(client.done, "think")
        assert begun.wait(30)
        assert client.change("think").status == 409
        client.done("pause", on=True)
        assert thinking.result(30) == {"left": 0, "stopped": True}
    assert client.done("pause", on=False) == {"paused": False}
    assert client.done("retry") == {"tasks": 0}


def test_a_correction_is_not_taken_back_once_it_was_forgotten(client, running):
    one = fact(client, "27 March")
    done = client.done("correct", id=one["id"], text="Anna sees the dentist on 28 March.")
    running.page.memory.forget(Forget(scope=ANNA, memories=(one["id"], done["memory"]["id"])))
    assert client.undo(done).status == 410
    assert client.ask("GET", f"/api/know/memory?id={one['id']}").status == 404, "it is gone"


def test_what_was_muted_since_its_correction_stays_muted(client: Client) -> None:
    one = fact(client, "27 March")
    done = client.done("correct", id=one["id"], text="Anna sees the dentist on 28 March.")
    client.done("mark", id=done["memory"]["id"], muted=True)
    assert client.undo(done).status == 200
    assert fact(client, "27 March")["muted"]


# ------------------------------------------------------------------- the page of a memory beside a bot: it reads, changes and hears


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = configured(tmp_path / "memory")
    with closing(MemoryEngine(made)) as engine:
        furnish(engine)
    return made


@contextmanager
def page(config: Config) -> Iterator[Client]:
    with closing(MemoryEngine(config)) as memory, Running(PageContext(memory, person=ANNA)) as page:
        yield entered(page)


def test_what_the_bot_hears_is_on_the_page_and_what_the_page_changes_holds(config: Config) -> None:
    with OtherProcess(config.folder) as process, page(config) as client, Events(client) as events:
        process.call("say", "The kettle is boiling.")
        assert events.until("stored")["scope"] == ANNA
        rows = client.read("said/turns?session=s")["rows"]
        assert [row["text"] for row in rows] == ["The kettle is boiling."]
        cello = next(r for r in client.read("know/facts")["rows"] if "cello" in r["text"])
        done = client.done("mark", id=cello["id"], muted=True)
        assert events.until("marked")["ids"] == [cello["id"]]
        assert [r["id"] for r in client.read("know/facts?mark=muted")["rows"]] == [cello["id"]]
        assert client.undo(done).status == 200
        fixed = client.done("correct", id=cello["id"], text="Anna plays the viola.")
        assert fixed["memory"]["text"] == "Anna plays the viola."
        assert client.done("forget/preview", session="anna-0")["turns"] == 6
        assert client.read("said/search?q=kettle")["rows"][0]["text"] == "The kettle is boiling."
        assert len(client.read("health")["others"]) == 1
        assert client.done("backup")["bytes"] > 0
