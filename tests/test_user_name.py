"""What the user is called through every door, once they gave a name."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
from typer.testing import CliRunner

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.cli.app import app
from slowcat_memory.config import Config
from slowcat_memory.engine import read_graph
from slowcat_memory.records import Forget
from slowcat_memory.tools.functions import Call, ToolCalls
from slowcat_memory.web import PageContext, verbs, views
from tests.support.mcp_host import Host, asking
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline, run

BEFORE = ("My bicycle is kept in the cellar.", "I live in Porto.", "I'm allergic to nuts.",
          "I'm waiting for a letter from my landlord.")  # fmt: skip
AFTER = ("Call me Ben.", "Where is my bicycle kept?")
COMMANDS = ("facts", "people", "timeline Porto", "show summaries", "show blocks", "show icebreakers",
            "show turns", "show 2", "search bicycle", "forget Porto")  # fmt: skip


def talk(config: Config, lines: tuple[str, ...]) -> str:
    """Say something in a conversation, and think; return the last request's user messages."""

    async def scenario() -> list[dict]:
        memory = HybridContextualMemoryProcessor(config=config, user_id="user")
        async with VoicePipeline(lambda _: "Well.", memory=memory) as voice:
            for line in lines:
                await voice.exchange(line)
        return voice.server.requests[-1]["messages"]

    requested = str([one["content"] for one in run(scenario()) if one["role"] == "user"])
    with contextlib.closing(MemoryEngine(config)) as engine:
        engine.idle.until_done()
    return requested


def by_page(engine: MemoryEngine) -> str:
    page = PageContext(engine, person="user")
    lists = ("facts", "blocks", "people", "conversations", "recalls", "as_of")
    seen = {name: getattr(views, name)(page, {}) for name in lists}
    shown = list(seen.values())
    shown += [views.person(page, {"id": one["id"]}) for one in seen["people"]["rows"]]
    shown += [views.memory(page, {"id": one["id"]}) for one in seen["facts"]["rows"]]
    shown += [views.one(page, {"turn": str(row["turn"])}) for row in seen["recalls"]["rows"]]
    for one in seen["conversations"]["rows"]:
        shown += [view(page, {"session": one["id"]}) for view in (views.turns, verbs.preview)]
    as_of = views.as_of(page, {"what": "people", "over": "1"})
    return str([*shown, as_of, views.search(page, {"q": "my bicycle"})])


async def by_mcp(host: Host) -> str:
    asked = {"search_memory": {"query": "bicycle"}, "forget": {"what": "my bicycle"}}
    calls = ("about_me", {}), ("recent", {}), *asked.items()
    return str([await host(tool, **arguments) for tool, arguments in calls])


def by_tools(engine: MemoryEngine) -> str:
    call, calls = Call(engine, "user", 1), ToolCalls()
    home = calls.answer("facts_read", {"name": "home"}, call)
    return str([home, calls.answer("search_memory", {"query": "bicycle"}, call)])


DOORS: dict[str, Callable[[MemoryEngine], str]] = {
    "head": lambda engine: engine.session_context("user"),
    "search": lambda engine: str(
        [
            engine.search("Porto", "user", kinds=kinds).hits
            for kinds in ((), ("fact",), ("summary",))
        ]
    ),
    "people": lambda engine: str(read_graph(engine, "user").portraits()),
    "tools": by_tools,
    "mcp": lambda engine: str(asking(engine, by_mcp, every=True)),
    "page": by_page,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Config, str]]:
    """A memory of somebody who gave their name in the second conversation, and its last block."""
    folder = tmp_path_factory.mktemp("named") / "memory"
    config = configured(folder, recall={"floor": 0.0})
    talk(config, BEFORE)
    block = talk(config, AFTER)
    with contextlib.closing(MemoryEngine(config)) as engine:
        engine.icebreakers.push("user", "Ask Ben how the exam in Oslo went.")
    yield config, block


@pytest.mark.parametrize("door", ["block", *DOORS, *COMMANDS, "why"])
def test_every_door_uses_the_name_that_was_given_last(home, door):
    config, shown = home
    if door in DOORS:
        with contextlib.closing(MemoryEngine(config)) as engine:
            shown = DOORS[door](engine)
    elif door != "block":
        scope = [] if door == "why" else ["--scope", "user"]
        arguments = ["--path", str(config.folder), *door.split(), *scope]
        shown = CliRunner().invoke(app, arguments).output
    assert "User" not in shown
    assert "Ben" in shown


def test_a_forgotten_turn_takes_the_name_that_it_told_with_it(tmp_path):
    config = configured(tmp_path / "memory")
    talk(config, AFTER)
    with contextlib.closing(MemoryEngine(config)) as engine:
        engine.search("bicycle", "user")
        assert engine.users.of("user") == "Ben"
        engine.forget(Forget(everything=True))
        assert engine.users.of("user") == "User"
