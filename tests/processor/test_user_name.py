"""What the user is called where the speech recogniser names nobody."""

import re
from pathlib import Path

import pytest

import slowcat_memory
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.errors import ConfigError
from tests.support.memories import turns
from tests.support.stores import configured
from tests.support.voice_pipeline import VoicePipeline, run


@pytest.fixture
def home(tmp_path):
    return configured(
        tmp_path / "memory",
        memory={"path": str(tmp_path / "memory"), "time_zone": "UTC"},
        recall={"floor": 0.0},
    )


def talk(config, *said: str, user_id: str, who: str = "") -> list[str]:
    """Say something in a conversation, and return the last request's user messages."""

    async def scenario():
        memory = HybridContextualMemoryProcessor(config=config, user_id=user_id)
        async with VoicePipeline(lambda _: "Well.", memory=memory) as voice:
            for words in said:
                await voice.exchange(words, user_id=who)
        last = voice.server.requests[-1]
        return [m["content"] for m in last["messages"] if m["role"] == "user"]

    return run(scenario())


def speakers(config) -> list[str]:
    return [turn.speaker for turn in turns(config) if turn.role == "user"]


def test_an_odd_user_id_is_refused_by_its_name(home):
    with pytest.raises(ConfigError, match="user_id 'Anna Berg!'"):
        HybridContextualMemoryProcessor(config=home, user_id="Anna Berg!")


def test_a_name_that_the_user_gives_is_used_from_then_on(home):
    talk(home, "My bicycle is kept in the cellar.", "my name is ben", user_id="u_17")
    talk(home, "My car is at the station.", user_id="u_17")  # after a restart too
    assert speakers(home) == ["U 17", "Ben", "Ben"]


def test_a_configured_name_stays(home, tmp_path):
    named = configured(
        tmp_path / "named", memory={"path": str(tmp_path / "named"), "user_name": "Lena"}
    )
    talk(named, "My name is Ben.", "My bicycle is red.", user_id="x")
    assert speakers(named) == ["Lena", "Lena"]


def test_only_the_engine_makes_readers_so_that_none_is_without_names():
    """A reader without names would show the earlier ones."""
    package = Path(slowcat_memory.__file__).parent
    made = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"\breader_of\(|(?<!\w)Reader\(frozenset", file.read_text("utf-8"))
    }
    assert made == {
        "engine/wiring.py",
        "runtime/conversation/audience.py",
        "runtime/recall/query.py",
    }
