"""The page of a memory beside a bot: it reads, changes and hears."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slowcat_memory.config import Config
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.web import PageContext
from tests.support.other_process import OtherProcess
from tests.support.page_client import Client, Events, entered
from tests.support.page_memory import ANNA, Running, furnish
from tests.support.stores import configured


@pytest.fixture
def config(tmp_path: Path) -> Config:
    made = configured(tmp_path / "memory")
    engine = MemoryEngine(made)
    furnish(engine)
    engine.close()
    return made


@contextmanager
def page(config: Config) -> Iterator[Client]:
    memory = MemoryEngine(config)
    try:
        with Running(PageContext(memory, person=ANNA)) as running:
            yield entered(running)
    finally:
        memory.close()


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


def test_the_page_goes_on_when_the_bot_ends(config: Config) -> None:
    with OtherProcess(config.folder) as process, page(config) as client:
        process.call("say", "The kettle is boiling.")
        process.kill()
        cello = next(r for r in client.read("know/facts")["rows"] if "cello" in r["text"])
        assert client.done("mark", id=cello["id"], pinned=True)["memory"]["pinned"]
        rows = client.read("said/turns?session=s")["rows"]
        assert json.dumps(rows).count("kettle") == 1
