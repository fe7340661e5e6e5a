import asyncio
import time

from benchmarks import corpus, store_pace
from slowcat_memory.records import Turn


def test_latency_the_same_seed_says_the_same_words():
    def words(seed, after=0):
        return [
            event.text
            for _, events in corpus.turns(60, seed, after)
            for event in events
            if isinstance(event, Turn)
        ]

    assert words(1) == words(1) and len(words(1)) == 60
    assert words(1) != words(2) and words(1) != words(1, after=60)
    assert len(set(corpus.questions(500, 1))) == 500


def test_latency_a_loop_that_is_held_up_is_late():
    async def hold():
        await asyncio.sleep(0.02)
        time.sleep(0.05)
        await asyncio.sleep(0.02)

    assert max(asyncio.run(store_pace.lag(hold()))) > 40
