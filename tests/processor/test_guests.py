"""What a guest orders is refused and not done; what another says changes nobody's turn."""

import pytest
from pipecat.frames.frames import TranscriptionFrame, UserMuteStartedFrame
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.store import Store
from tests.support.memories import remember, residue, turns
from tests.support.processors import EagerVoice, Mark, aggregators, saw
from tests.support.stores import household
from tests.support.voice_pipeline import VoicePipeline, run

SPEAKERS = {"s1": "anna", "s2": "ben"}
REFUSED = "I don't know who you are"
CODE = "zqxcode"


@pytest.fixture
def home(tmp_path):
    config = household(tmp_path / "memory")
    remember(config, "Anna: My bicycle is kept in the cellar.", scope="anna", days=3)
    return config


def talk(config, *said: tuple[str, str], reply="Well.", then=None):
    """Let people speak in turn; return the answers and the LLM's requests."""

    async def scenario():
        processor = HybridContextualMemoryProcessor(config=config, speakers=SPEAKERS)
        async with VoicePipeline(lambda _: reply, memory=processor) as voice:
            answers = []
            for who, words in said:
                answers.append((await voice.exchange(words, user_id=who)).content)
                if then:
                    then(processor)
        return answers, voice.server.requests

    return run(scenario())


def stored(config) -> tuple[list, list]:
    """Return every derived memory, and the rows of commands."""
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        scopes = snapshot.scopes()
        return [m for s in scopes for m in snapshot.memories(s)], list(snapshot.commands())


ORDERS = (
    f"remember that my code is {CODE}",
    f"remember for all of us that the code is {CODE}",
    "what do you know about me",
    f"forget everything about {CODE}",
    "forget that",
    f"that's wrong, it's {CODE}",
    "undo that",
    "why did you say that",
    "keep that between us",
    "off the record",
    "back on the record",
    "who can see this",
)


def test_guests_orders_are_each_refused_in_one_sentence_and_not_done(home):
    orders = (("eve", order) for order in ORDERS)
    (_, *refused, _), requests = talk(home, ("s1", "hello"), *orders, ("s1", "good day"))
    assert [words for words in refused if not words.startswith(REFUSED)] == []
    assert len(refused) == len(ORDERS) and len(requests) == 2
    assert stored(home) == ([], [])
    assert not residue(home.folder, CODE)
    assert [t.text for t in turns(home) if t.scope == "anna"][-2:] == ["good day", "Well."]


def test_guests_one_guest_is_told_nothing_of_another(home):
    secret = "I have a secret affair with Zqxlover and I am scared"
    talk(home, ("eve", secret))
    (answer,), requests = talk(home, ("adam", "what do you know about me"))
    assert "Zqxlover" not in answer and requests == []


def test_guests_yes_does_not_answer_what_another_was_asked(home):
    answers, requests = talk(
        home, ("s1", "forget everything about bicycle"), ("eve", "yes"), ("s2", "yes forget them"),
        ("s1", "yes forget them"),
    )  # fmt: skip
    assert answers[0].startswith("Shall I forget 1 thing")
    assert answers[1] == answers[2] == "Well." and len(requests) == 2
    assert answers[3].startswith("I've forgotten 1 thing")


# ------------------------------------------------------------------- muted transcripts


class Mute(BaseUserMuteStrategy):
    on = True

    async def process_frame(self, frame):
        await super().process_frame(frame)
        return self.on


@pytest.mark.parametrize(("who", "muted"), [("s2", "no"), ("eve", "a"), ("eve", "my bicycle")])
async def test_guests_muted_word_of_another_moves_nothing_into_their_memory(home, who, muted):
    mute = Mute()
    processor = HybridContextualMemoryProcessor(config=home, speakers=SPEAKERS)
    voice = VoicePipeline(lambda _: "Your PIN is Zqx4711.", memory=processor)
    voice.aggregators = aggregators(voice.context, user_mute_strategies=[mute])
    async with voice:
        saw(voice, UserMuteStartedFrame)
        await voice.worker.queue_frame(Mark())
        await voice.until(lambda: saw(voice, UserMuteStartedFrame))
        await voice.worker.queue_frame(TranscriptionFrame(muted, who, time_now_iso8601()))
        await voice.worker.queue_frame(Mark())
        await voice.until(lambda: saw(voice, Mark))
        mute.on = False
        await voice.worker.queue_frame(Mark())
        await voice.exchange("Do you know a place where my bicycle is kept?", user_id="s1")
    (request,) = voice.server.requests
    assert "cellar" in str(request), "Anna is still recalled her own memories"
    assert {t.scope for t in turns(home) if "Zqx4711" in t.text} == {"anna"}, "the reply too"
    assert not [t for t in turns(home) if t.text == muted]


async def test_guests_predicted_turn_of_a_guest_is_recalled_nothing(home):
    processor = HybridContextualMemoryProcessor(config=home, speakers={"s1": "anna"})
    eager = EagerVoice(processor)
    async with eager.voice:
        await eager.begin("where is my bicycle kept")  # by "anna", whose id is unknown
        (request,) = eager.voice.server.requests
    assert "cellar" not in str(request)


# ------------------------------------------------------------------- off the record


def test_guests_nobody_else_ends_off_the_record(home):
    answers, _ = talk(
        home,
        ("s1", "off the record"),
        ("s2", "back on the record"),
        ("eve", "back on the record"),
        ("s1", "my secret is zanzibar"),
        ("s1", "back on the record"),
        ("s1", "I like tea"),
    )
    assert answers[1].startswith("We stay off the record") and answers[2].startswith(REFUSED)
    assert answers[4] == "We are back on the record."
    assert not residue(home.folder, "zanzibar") and residue(home.folder, "i like tea")


@pytest.mark.parametrize("step", [-86400.0, 3600.0])
async def test_guests_step_of_the_wall_clock_does_not_end_off_the_record(home, step):
    from datetime import UTC, datetime

    from slowcat_memory import MemoryEngine
    from slowcat_memory.testing import FixedClock

    clock = FixedClock(datetime.now(UTC))
    engine = MemoryEngine(home, clock=clock)

    processor = HybridContextualMemoryProcessor(engine=engine, speakers=SPEAKERS)
    async with VoicePipeline(lambda _: "Hush.", memory=processor) as voice:
        await voice.exchange("off the record", user_id="s1")
        clock.advance(step)
        await voice.exchange("my secret is zanzibar", user_id="s1")
    engine.close()
    assert not residue(home.folder, "zanzibar")
