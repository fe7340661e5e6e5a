"""Checks that an agent whose store cannot be opened answers, and remembers everything later.

Each round stores some turns, gives the store a reason not to open, and holds a conversation through
a real pipeline. Then the reason ends, and the agent must get its memory back. Laws:

- *silent*: each turn is replied to, one trouble is reported, and one return;
- *lost*, *doubled*, *disordered*: the log has what was said, once, in order, and replies their turns.

The reasons: another process holds the store, its disk is not mounted, is full, or fails.
"""

import asyncio
import errno
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.config import Config
from slowcat_memory.testing import memory_config
from tests.harness.command import Harness, main
from tests.harness.failover import PLANTS
from tests.harness.puppets import WAIT_S
from tests.support.held_store import held, logged_texts, refusing
from tests.support.memories import remember
from tests.support.voice_pipeline import VoicePipeline


@contextmanager
def missing(folder: Path) -> Iterator[None]:
    """Leave a link to a disk that is not mounted."""
    disk = folder.parent / "disk"
    folder.rename(disk) if folder.exists() else disk.mkdir()
    folder.symlink_to(folder.parent / "mounted")
    try:
        yield
    finally:
        disk.rename(folder.parent / "mounted")


REASONS: tuple[Callable[[Path], AbstractContextManager[None]], ...] = (
    held,
    missing,
    lambda _: refusing(errno.ENOSPC),
    lambda _: refusing(errno.EIO),
)


async def converse(
    config: Config, rng: random.Random, reason: AbstractContextManager[None]
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Hold one conversation with a recovery; return the reports, and what was said."""
    memory = HybridContextualMemoryProcessor(config=config, user_id="anna")
    reports, said, back = list[str](), list[tuple[str, str, str]](), asyncio.Event()

    async def on_trouble(*_: object) -> None:
        reports.append("trouble")

    async def on_back(*_: object) -> None:
        reports.append("back")
        back.set()

    memory.add_event_handler("on_memory_trouble", on_trouble)
    memory.add_event_handler("on_memory_back", on_back)
    with ExitStack() as stack:
        stack.enter_context(reason)
        async with VoicePipeline(memory=memory) as voice:
            await _talk(voice, rng, said)
            stack.close()
            await asyncio.wait_for(back.wait(), WAIT_S)
            await _talk(voice, rng, said)
            reports += voice.errors
    return reports, said


async def _talk(voice: VoicePipeline, rng: random.Random, said: list[tuple[str, str, str]]) -> None:
    for _ in range(rng.randint(2, 7)):
        text = f"utterance {len(said)} is {rng.randrange(1 << 30)}"
        answer = await asyncio.wait_for(voice.exchange(text, interims=False), WAIT_S)
        said += [("user", text, ""), ("assistant", answer.content, text)]


def run(folder: Path, rounds: int, seed: int, control: str) -> dict[str, int]:
    PLANTS[control]()
    broken, rng = Counter[str](), random.Random(seed)
    for n in range(rounds):
        config = memory_config(folder / str(n) / "memory")
        (folder / str(n)).mkdir()
        before = []
        if rng.random() < 0.7:
            remember(config, "User: My dog is called Max.", scope="anna")
            before = logged_texts(config.folder)
        reason = REASONS[n % len(REASONS)](config.folder)
        reports, said = asyncio.run(converse(config, rng, reason))
        broken["silent"] += reports != ["trouble", "back"]
        there, expected = logged_texts(config.folder), [*before, *said]
        wanted, found = (Counter(row[:2] for row in rows) for rows in (expected, there))
        broken["lost"] += (wanted - found).total()
        broken["doubled"] += (found - wanted).total()
        broken["disordered"] += wanted == found and there != expected
        broken["turns"] += len(said)
    return {name: broken[name] for name in ("turns", *LAWS)}


LAWS = ("silent", "lost", "doubled", "disordered")
HARNESSES = {
    "reasons": Harness(
        run=run, count=4, night=40, laws=LAWS, least={"turns": 8.0},
        controls={"dropped": ("lost", 4)},
    )
}  # fmt: skip

if __name__ == "__main__":
    main(HARNESSES, __doc__)
