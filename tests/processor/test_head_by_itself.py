"""The session's head comes by itself: in a whole pipeline, with no more than the constructor."""

import asyncio
import shutil

import pytest

from slowcat_memory import HybridContextualMemoryProcessor
from tests.support.memories import engine_of, remember
from tests.support.processors import talking
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline

SAID = (
    "Anna: My name is Anna and I live in Porto.",
    "Anna: I am allergic to walnuts.",
    "Anna: I'm going to visit the dentist in three days.",
)


def settings(folder):
    return configured(
        folder, memory={"user_id": "anna"}, icebreakers={"quiet_hours": "", "min_absence_h": 0.0}
    )


@pytest.fixture(scope="module")
def thought(tmp_path_factory):
    """A store in which idle work has been done."""
    config = settings(tmp_path_factory.mktemp("head") / "memory")
    remember(config, *SAID, scope="anna", days=1)
    with engine_of(config) as engine:
        engine.idle.until_done()
        engine.icebreakers.push("anna", "Ask how the tulips are.")
    return config.folder


@pytest.fixture
def home(thought, tmp_path):
    return settings(shutil.copytree(thought, tmp_path / "memory"))


def system(request) -> str:
    return "\n".join(str(m["content"]) for m in request["messages"] if m["role"] == "system")


def talk(config, *said, before=None):
    processor = HybridContextualMemoryProcessor(config=config)
    again = []

    async def then(_):
        again.append(await processor.session_context())

    held = talking(processor, *said, reply=lambda _: "Well.", before=before, then=then)
    return held.voice.server.requests, again[-1]


def test_the_first_request_holds_it_once_and_a_dozen_more_break_no_prefix(home) -> None:
    requests, again = talk(home, *(f"this is number {n}" for n in range(13)))
    first = system(requests[0])
    for part in ("Anna", "Porto", "walnuts", "tulips"):
        assert part in first
    assert "in three days" not in first  # by rules, nothing that goes stale
    assert first.count("<notes>\n") == 1 and again == ""
    for one, other in zip(requests, requests[1:], strict=False):
        assert other["messages"][: len(one["messages"])] == one["messages"]


def test_what_session_context_returned_before_the_start_stands_once(home) -> None:
    async def before(processor):
        return f"You are a cat.\n\n{await processor.session_context()}"

    (request, *_), again = talk(home, "hello", before=before)
    assert system(request).count("walnuts") == 1 and "walnuts" in again


def test_what_is_forgotten_leaves_it_before_the_next_request(home) -> None:
    requests, _ = talk(home, "hello", "forget what I said about walnuts", "yes", "hello again")
    assert "walnuts" in system(requests[0]) and "Porto" in system(requests[0])
    assert "walnuts" not in str(requests[-1]["messages"][0])
    assert "Porto" in system(requests[-1])


async def test_a_head_that_came_after_the_first_request_stands_in_the_next_block(home) -> None:
    with engine_of(home) as engine:
        head = engine.session_context
        engine.session_context = lambda *_, **__: ""  # of a memory that has not joined yet
        processor = HybridContextualMemoryProcessor(config=home, engine=engine)
        async with VoicePipeline(lambda _: "Well.", memory=processor) as voice:
            await voice.exchange("hello")
            engine.session_context = head
            engine.availability.announce()
            while not processor._deps.messages.late_head:
                await asyncio.sleep(0.01)
            await voice.exchange("hello again")
            await voice.exchange("and again")
    first, second, third = voice.server.requests
    assert "walnuts" not in str(first)
    assert second["messages"][-1]["content"].startswith("<memories>\nAbout Anna")
    assert "walnuts" in str(second["messages"][-1]) and str(third).count("walnuts") == 1
    assert third["messages"][: len(second["messages"])] == second["messages"]
