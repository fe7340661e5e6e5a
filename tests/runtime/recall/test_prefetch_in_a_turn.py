"""What a turn takes of a recall that was begun ahead, and that nothing else of it stays."""

import asyncio
import gc
import types
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.engine.search import build_query
from slowcat_memory.records import Forget
from slowcat_memory.runtime.recall.prefetch import Prefetch
from slowcat_memory.runtime.recall.query import Query, Recollection
from slowcat_memory.testing import HashEmbedder
from tests.support.engine_home import GatedEmbedder, Home, texts
from tests.support.memories import Look, residue
from tests.support.said import turn_at

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)
SAID = (
    "My dog is called Max",
    "We flew to Lisbon in May",
    "My brother Moritz brews beer",
    "I drink green tea every morning",
)
ASKED = "what is my dog called"


# ---------------------------------------------------------------- what a turn takes


class Scene:
    """An engine with something in it, and what was recalled ahead."""

    def __init__(self, home: Home) -> None:
        self.embedder = GatedEmbedder("slowcat-ahead", "slowcat-recall")
        home.clock.now = NOW
        self.engine = home.open(self.embedder, recall={"floor": 0.0, "keep_share": 0.0})
        for days, text in enumerate(SAID, start=1):
            self.say(text, NOW - timedelta(days=days))
        self.embedder.asked.clear()
        self.how: dict = {}

    def say(self, text: str, at: datetime = NOW) -> str:
        ack = self.engine.append(turn_at(text, at, session=f"s{at}"))
        self.engine.flush(indexed=True)
        return f"turn/{ack.event.id}"

    def given(self, text: str) -> dict:
        return {"exclude_words": frozenset({fingerprint(text)}), **self.how}

    def ask(self, text: str) -> Query:
        return build_query(self.engine.clock, text, "anna", **self.given(text))

    def heard(self, text: str) -> Prefetch:
        """What is at hand when nobody has had to wait; on an event loop."""
        prefetch = self.engine.prefetch(self.ask)
        prefetch.hear(text, whole=True)
        self.engine.indexer.ahead.submit(lambda: None).result(30)
        return prefetch

    async def recall(self, text: str, prefetch: Prefetch | None = None, **more) -> Recollection:
        how = self.given(text) | more
        return await self.engine.recall(text, "anna", prefetch=prefetch, **how)

    def counts(self) -> dict[str, int]:
        counts = self.engine.metrics.counts()
        names = ("stood", "vector", "redone")
        return {name: counts[f"prefetch_{name}"] for name in names if f"prefetch_{name}" in counts}


@pytest.fixture
def scene(home: Home) -> Iterator[Scene]:
    made = Scene(home)
    yield made
    made.embedder.gate.set()


def at_once(coroutine) -> Recollection:
    """Run what must not wait for anything."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


async def test_prefetch_in_a_turn_recall_the_same_words_stand_and_nobody_waits(scene):
    plain = await scene.recall(ASKED)
    scene.embedder.asked.clear()
    ahead = scene.heard(ASKED)
    assert scene.embedder.asked == [ASKED]  # not out of the cache
    found = at_once(scene.recall("What is my dog called?", ahead))
    assert found.hits == plain.hits and found.stage == plain.stage == "full"
    assert texts(found)[0] == SAID[0]
    assert scene.embedder.asked == [ASKED]
    assert scene.counts() == {"stood": 1}


async def test_prefetch_in_a_turn_recall_of_nearly_the_same_words_the_vector_stands(scene):
    ahead, final = scene.heard("what is my dog cold again"), "what is my dog called again"
    scene.embedder.asked.clear()
    found = await scene.recall(final, ahead)
    assert scene.embedder.asked == [] and "embed" not in found.timings
    assert "call" in found.words and "cold" not in found.words  # searched for by its own words
    vector = HashEmbedder.encode_query(scene.embedder, "what is my dog cold again")
    assert found.hits == (await scene.recall(final, vector=vector)).hits
    assert scene.counts() == {"vector": 1}


async def test_prefetch_in_a_turn_recall_other_words_are_asked_anew(scene):
    ahead = scene.heard("what is my brother doing")
    scene.embedder.asked.clear()
    found = await scene.recall(ASKED, ahead)
    assert scene.embedder.asked == [ASKED]
    assert found.hits == (await scene.recall(ASKED)).hits
    assert scene.counts() == {"redone": 1}


async def test_prefetch_in_a_turn_recall_what_is_forgotten_between_the_two_does_not_appear(scene):
    ahead, again = scene.heard(ASKED), scene.heard(ASKED)
    assert texts(at_once(scene.recall(ASKED, again)))[0] == SAID[0]  # the negative control
    scene.engine.store.flush(None)
    (said,) = [one.id for one in Look(scene.engine).turns("anna") if one.text == SAID[0]]
    assert (await asyncio.to_thread(scene.engine.forget, Forget(turns=(said,)))).memories
    assert SAID[0] not in texts(await scene.recall(ASKED, ahead))


async def test_prefetch_in_a_turn_recall_what_has_become_visible_between_the_two_is_not_offered(
    scene,
):
    seen = {fingerprint(ASKED), fingerprint(SAID[0])}
    found = await scene.recall(ASKED, scene.heard(ASKED), exclude_words=frozenset(seen))
    assert SAID[0] not in texts(found)
    elsewhere = frozenset({fingerprint(ASKED), fingerprint("good day")})
    at_once(scene.recall(ASKED, scene.heard(ASKED), exclude_words=elsewhere))
    every = (await scene.recall(ASKED)).hits
    (memory,) = [hit.memory.id for hit in every if hit.memory.text == SAID[0]]
    found = await scene.recall(ASKED, scene.heard(ASKED), exclude=frozenset({memory}))
    assert SAID[0] not in texts(found)
    own = frozenset({"a turn of now, not yet to be found"})
    ahead = scene.heard(ASKED)
    scene.say("and now for something else")
    at_once(scene.recall(ASKED, ahead, exclude=own))


async def test_prefetch_in_a_turn_recall_a_follow_up_is_asked_with_the_dialogue_it_leans_on(scene):
    talk = (DialogueTurn("Tell me about my brother Moritz", NOW), DialogueTurn("What of him?", NOW))
    other = (DialogueTurn("Tell me about Lisbon in May", NOW), DialogueTurn("What of it?", NOW))
    leaning = "and what about him?"
    scene.how = {"dialogue": talk}
    ahead = scene.heard(leaning)
    assert scene.embedder.asked[0].endswith("Moritz")
    assert texts(at_once(scene.recall(leaning, ahead)))[0] == SAID[2]
    ahead = scene.heard(leaning)
    scene.embedder.asked.clear()
    await scene.recall(leaning, ahead, dialogue=other)
    assert "Lisbon" in scene.embedder.asked[0]  # not even the vector stands
    assert scene.counts() == {"stood": 1, "redone": 1}


async def test_prefetch_in_a_turn_recall_a_recall_that_fails_is_done_anew(scene, monkeypatch):
    monkeypatch.setattr(scene.engine.retrieval.writer, "pack", lambda *_: 1 / 0)
    assert texts(await scene.recall(ASKED, scene.heard(ASKED)))[0] == SAID[0]


async def test_prefetch_in_a_turn_recall_a_turn_cut_off_while_it_waits_stops_what_was_begun(scene):
    ahead = scene.engine.prefetch(scene.ask)
    scene.embedder.gate.clear()
    ahead.hear(ASKED)
    await asyncio.to_thread(scene.embedder.reached.wait, 20)
    attempt = ahead._attempt
    waiting = asyncio.create_task(scene.recall(ASKED, ahead))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert attempt is not None and attempt.recalls[0].abandoned
    assert ahead.take() is None


def test_prefetch_in_a_turn_recall_an_unloaded_scope_begins_nothing(scene):
    unloaded = replace(scene.ask(ASKED), scope="ben")
    assert scene.engine.retrieval.begin(unloaded) is None


# ---------------------------------------------------------------- nothing stays


# From these, everything could be reached, this test included.
LEAVES = (type, types.ModuleType, types.FrameType, asyncio.AbstractEventLoop, str, bytes)


def holds(root: object, mark: str) -> bool:
    """Whether a text with a mark can be reached from an object."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str) and mark in found:
            return True
        if isinstance(found, types.FunctionType):
            more = list(found.__closure__ or ())
        elif isinstance(found, LEAVES):
            more = []
        else:
            more = gc.get_referents(found)
        waiting += [one for one in more if id(one) not in seen]
        seen |= {id(one) for one in more}
    return False


@pytest.mark.parametrize("said", [False, True])
async def test_prefetch_in_a_turn_recall_words_that_were_only_heard_are_kept_nowhere(scene, said):
    mark = "zanzibar"
    ahead = scene.engine.prefetch(scene.ask)
    ahead.hear(f"my secret is {mark} and more")
    assert holds(ahead, mark)  # while it may still be said
    scene.engine.indexer.ahead.submit(lambda: None).result(30)
    await scene.recall(ASKED, ahead)
    if said:  # the negative control: what a turn asked is in the cache of vectors
        await scene.recall(f"my secret is {mark} and more")
    scene.embedder.asked.clear()
    scene.engine.flush(indexed=True)
    gc.collect()
    assert holds(scene.engine, mark) == said
    assert ahead._attempt is None and not holds([ahead._waiting, ahead._again], mark)
    assert mark not in str(scene.engine.upkeep.stats())
    scene.engine.store.flush(None)
    scene.engine.close()
    assert residue(scene.engine.config.folder, "max")
    assert not residue(scene.engine.config.folder, mark)
