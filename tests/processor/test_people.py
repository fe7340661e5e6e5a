"""Several people and one agent, through a real pipeline: whose memory, guests, off the record."""

import contextlib
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from pipecat.frames.frames import TranscriptionFrame, UserMuteStartedFrame
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.utils.time import time_now_iso8601

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.core.render.memory_block import OPEN
from slowcat_memory.errors import ConfigError
from slowcat_memory.store import Store
from slowcat_memory.testing import FixedClock, HashEmbedder
from tests.support.memories import edges, engine_of, ledger, remember, residue, turns
from tests.support.processors import EagerVoice, Mark, events_of, saw, talking
from tests.support.rows import cases, listed_texts
from tests.support.sessions import hold
from tests.support.stores import household
from tests.support.voice_pipeline import VoicePipeline, aggregators, run

# ------------------------------------------------------------------- several people and one agent, through a real pipeline: whose memory, and off the

SPEAKERS = {"s1": "anna", "s2": "ben"}
ANNA = "Anna: My bicycle is kept in the cellar."
BEN = "Ben: My bicycle is kept at the station."
HOME = "The bicycle pump is kept in the kitchen."
QUESTION = "where is the bicycle kept"


@pytest.fixture
def home(tmp_path):
    """Anna's, Ben's and the household's memory of bicycles."""
    config = household(tmp_path / "memory", floor=0.005)
    remember(config, ANNA, scope="anna", days=3)
    remember(config, BEN, scope="ben", days=4)
    with engine_of(config) as engine:
        engine.remember(HOME, "home", speaker="Home")
    return config


def memory(config, **how) -> HybridContextualMemoryProcessor:
    return HybridContextualMemoryProcessor(config=config, speakers=SPEAKERS, **how)


def users(request) -> list[str]:
    return [m["content"] for m in request["messages"] if m["role"] == "user"]


def talk(processor, *said: tuple[str, str], then=None) -> list[list[str]]:
    """Let people speak in turn, and return the user messages of each request to the LLM."""
    held = talking(processor, *said, reply=lambda _: "Well.", then=then)
    return [users(body) for body in held.voice.server.requests]


def scopes(config) -> list[tuple[str, str]]:
    return [(turn.scope, turn.text) for turn in turns(config) if turn.at > NOW]


NOW = datetime.now(UTC) - timedelta(hours=1)


# ------------------------------------------------------------------- what one reads


@cases("processor/readers.jsonl", "")
def test_people_each_reads_their_own_and_the_households(home, who, reads, not_):
    ((asked,),) = talk(memory(home), (who, QUESTION))
    assert all(word in asked for word in reads)
    assert not any(word in asked for word in (*not_, *([] if reads else [OPEN])))


def test_people_each_turn_is_logged_where_it_belongs_with_its_reply(home):
    talk(memory(home), ("s1", "hello there"), ("s2", "good morning"), ("eve", "bonjour"))
    assert scopes(home) == [
        (scope, words)
        for scope, asked in (("anna", "hello there"), ("ben", "good morning"), ("guest", "bonjour"))
        for words in (asked, "Well.")
    ]
    assert edges(home).count("end disconnect") == 3
    assert len({turn.session for turn in turns(home) if turn.at > NOW}) == 3


def test_people_application_may_say_who_speaks(home):
    processor = memory(home)

    async def then(_):
        processor.speaker("ben")

    first, second = talk(processor, ("s1", "hello"), ("s1", QUESTION), then=then)
    assert "station" in second[-1] and "cellar" not in second[-1]


# ------------------------------------------------------------------- another person speaks


def test_people_another_persons_block_is_taken_out_of_the_context(home):
    anna, ben, again = talk(memory(home), ("s1", QUESTION), ("s2", "hello"), ("s1", "and mine"))
    assert "cellar" in anna[0] and "kitchen" in anna[0]
    assert "cellar" not in str(ben) and ben[0] == QUESTION
    assert "station" not in str(again)


def test_people_who_wants_the_prefix_cache_may_leave_it(home):
    config = replace(home, people=replace(home.people, strip_on_change=False))
    _, ben = talk(memory(config), ("s1", QUESTION), ("s2", "hello"))
    assert "cellar" in ben[0]


# ------------------------------------------------------------------- guests


@pytest.fixture
def hosted(home):
    with contextlib.closing(MemoryEngine(home, embedder=HashEmbedder())) as engine:
        yield engine


def test_people_guest_is_logged_and_nothing_else(hosted):
    engine, said = hosted, ["a quince for the road"]
    hold(engine, "visit", said, datetime.now(UTC), scope="guest", speaker="eve", reason="silence")
    engine.flush(indexed=True)
    engine.upkeep.tidy("guest")
    with engine.store.snapshot() as snapshot:
        assert [turn.text for turn in snapshot.turns("guest")] == said
        assert not [
            *snapshot.memories("guest"),
            *snapshot.vectors(engine.embedding.report.key, "guest"),
        ]
        assert snapshot.manifest("guest") is None
    assert engine.search("quince", "guest").hits == engine.search("quince", "anna").hits == []
    assert run(engine.recall("quince", "guest")).hits == []
    assert engine.session_context("guest") == ""
    assert "guest" not in engine.upkeep.stats()["index"]
    for refused in (
        lambda: engine.remember("quince", "guest"),
        lambda: engine.namespaces.get("guest").searcher,
        lambda: engine.prepare("guest"),
    ):
        with pytest.raises(ConfigError, match="guests"):
            refused()


# ------------------------------------------------------------------- off the record


def test_people_off_the_record_is_answered_and_not_kept(home):
    processor = memory(home)
    events = events_of(processor, "on_record_changed")

    async def then(voice):
        words = users(voice.server.requests[-1])[-1]
        if "one" in words:
            processor.off_the_record()
        elif "bicycle" in words:
            processor.back_on_the_record()

    sent = talk(processor, ("s1", "one"), ("s1", QUESTION), ("s1", "three"), then=then)
    assert "cellar" in sent[1][-1]  # recall goes on
    assert scopes(home) == [("anna", w) for w in ("one", "Well.", "three", "Well.")]
    assert events == [True, False]
    asked = [turn.id for turn in turns(home) if turn.text in ("one", "three")]
    assert [entry.turn for entry in ledger(home)] == asked


# ------------------------------------------------------------------- what a guest orders is refused and not done; what another says changes nobody's


REFUSED = "I don't know who you are, so I change nothing in my memory and tell nothing from it."
CODE = "zqxcode"


@pytest.fixture
def house(tmp_path):
    config = household(tmp_path / "memory")
    remember(config, "Anna: My bicycle is kept in the cellar.", scope="anna", days=3)
    return config


def converse(config, *said):
    """Let people speak in turn; return the answers and the LLM's requests."""
    held = talking(memory(config), *map(tuple, said), reply=lambda _: "Well.")
    return held.answers, held.voice.server.requests


def stored(config) -> tuple[list, list]:
    """Return every derived memory, and the rows of commands."""
    with Store.open(config.folder, readonly=True) as store, store.snapshot() as snapshot:
        scopes = snapshot.scopes()
        return [m for s in scopes for m in snapshot.memories(s)], list(snapshot.commands())


ORDERS = [order.format(code=CODE) for order in listed_texts("commands/guests")]


def test_guests_orders_are_each_refused_in_one_sentence_and_not_done(house):
    orders = (("eve", order) for order in ORDERS)
    (_, *refused, _), requests = converse(house, ("s1", "hello"), *orders, ("s1", "good day"))
    assert set(refused) == {REFUSED}, "a sentence that tells nothing of anybody"
    assert len(refused) == len(ORDERS) and len(requests) == 2
    assert stored(house) == ([], [])
    assert not residue(house.folder, CODE)
    assert [t.text for t in turns(house) if t.scope == "anna"][-2:] == ["good day", "Well."]


@cases("commands/people", "")
def test_guests_and_others_answer_and_end_nothing_of_anothers(house, said, answers, kept, lost):
    told, _ = converse(house, *(line.split(": ", 1) for line in said.split(" / ")))
    for answer, begins in zip(told, answers.split(" / "), strict=True):
        assert answer.startswith(begins)
    assert residue(house.folder, kept) and not (lost and residue(house.folder, lost))


# ------------------------------------------------------------------- muted transcripts


class Mute(BaseUserMuteStrategy):
    on = True

    async def process_frame(self, frame):
        await super().process_frame(frame)
        return self.on


@pytest.mark.parametrize(("who", "muted"), [("s2", "no"), ("eve", "a"), ("eve", "my bicycle")])
async def test_guests_muted_word_of_another_moves_nothing_into_their_memory(house, who, muted):
    mute = Mute()
    processor = HybridContextualMemoryProcessor(config=house, speakers=SPEAKERS)
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
    assert {t.scope for t in turns(house) if "Zqx4711" in t.text} == {"anna"}, "the reply too"
    assert not [t for t in turns(house) if t.text == muted]


async def test_guests_predicted_turn_of_a_guest_is_recalled_nothing(house):
    eager = EagerVoice(HybridContextualMemoryProcessor(config=house, speakers={"s1": "anna"}))
    async with eager.voice:
        await eager.begin("where is my bicycle kept")  # by "anna", whose id is unknown
        (request,) = eager.voice.server.requests
    assert "cellar" not in str(request)


# ------------------------------------------------------------------- off the record


@pytest.mark.parametrize("step", [-86400.0, 3600.0])
async def test_guests_step_of_the_wall_clock_does_not_end_off_the_record(house, step):
    clock = FixedClock(datetime.now(UTC))
    engine = MemoryEngine(house, clock=clock)

    processor = HybridContextualMemoryProcessor(engine=engine, speakers=SPEAKERS)
    async with VoicePipeline(lambda _: "Hush.", memory=processor) as voice:
        await voice.exchange("off the record", user_id="s1")
        clock.advance(step)
        await voice.exchange("my secret is zanzibar", user_id="s1")
    engine.close()
    assert not residue(house.folder, "zanzibar")
