"""Plays the demo's script through a real pipeline, and judges what came back.

Each evening has an engine of its own, opened on the same folder and closed after it, so that
whatever is recalled on the next one has been on disk. Time is the script's: a clock that is set,
not read. Nothing here sleeps; each turn is over when both of its halves are durable.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from slowcat_memory.cli.demo.result import Opened, Played, PlayedTurn, Recalled
from slowcat_memory.cli.demo.script import USER, Evening, Line
from slowcat_memory.config import Config
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.errors import EndpointError, StoreError
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.records import Hit, Turn
from slowcat_memory.runtime.injection import without_block
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.parrot import message_text, parrot

SCOPE = USER.casefold()
TURN_LASTS = timedelta(seconds=25)
_ANSWER_S = 300.0  # a large model of one's own may first have to be loaded
_DURABLE_S = 10.0  # a disk that takes longer than this has failed


class Clock:
    """The script's time."""

    def __init__(self, now: datetime) -> None:
        """Set it.

        Args:
            now: The time, aware.
        """
        self.now = now

    def __call__(self) -> datetime:
        """Return the time."""
        return self.now


def scripted_reply(script: Sequence[Evening]) -> Callable[[dict[str, Any]], str]:
    """Make the rule by which the demo's own server answers.

    Args:
        script: What the user says, with the replies to it.

    Returns:
        The script's reply to what it has one for; to the rest, what the parrot makes of the block.
    """
    replies = {line.text: line.reply for evening in script for line in evening.lines}

    def reply(request: dict[str, Any]) -> str:
        words = without_block(message_text(request["messages"][-1])).strip()
        return replies.get(words) or parrot(request, trusting=True)

    return reply


class Play:
    """A script on its way through the pipeline."""

    def __init__(
        self,
        config: Config,
        llm_url: str,
        llm_model: str,
        *,
        on_evening: Callable[[Opened], None] = lambda _: None,
        on_turn: Callable[[PlayedTurn], None] = lambda _: None,
    ) -> None:
        """Choose the store and the LLM.

        Args:
            on_evening: Told when the store has been opened for an evening.
        """
        self._config, self._url, self._model = config, llm_url, llm_model
        self._on_evening, self._on_turn = on_evening, on_turn
        self._chunks: dict[tuple[str, str], str] = {}  # of the script's keys and halves
        self._played = Played()

    async def run(self, script: Sequence[Evening]) -> Played:
        """Play a script.

        Args:
            script: The evenings, in order.

        Raises:
            SlowcatError: The store or the LLM failed.
        """
        before: Evening | None = None
        for number, evening in enumerate(script, 1):
            days = (evening.at.date() - before.at.date()).days if before else 0
            await self._evening(number, evening, days)
            before = evening
        return self._played

    async def _evening(self, number: int, evening: Evening, days: int) -> None:
        clock, start = Clock(evening.at), time.perf_counter()
        engine = await asyncio.to_thread(MemoryEngine, self._config, clock=clock)
        try:
            await asyncio.to_thread(engine.prepare, SCOPE)
            opened = Opened(
                number=number,
                at=evening.at,
                days=days,
                turns=_turns(engine),
                open_ms=(time.perf_counter() - start) * 1e3,
                embedding=engine.embedding.source,
            )
            self._played.evenings.append(opened)
            self._on_evening(opened)
            await self._talk(number, evening, engine, clock)
            self._played.stored = _turns(engine)
        finally:
            await asyncio.to_thread(engine.release)  # embeds and saves what waits

    async def _talk(
        self, number: int, evening: Evening, engine: MemoryEngine, clock: Clock
    ) -> None:
        memory = HybridContextualMemoryProcessor(engine=engine, user_id=SCOPE)
        watch = _Watch(memory)
        offered: set[str] = set()  # stands in the conversation already, further up
        async with HeadlessConversation(
            llm_url=self._url, llm_model=self._model, memory=memory, speaker=""
        ) as talk:
            for line in evening.lines:
                reply = await talk.say(line.text, timeout_s=_ANSWER_S)
                if not reply.text:
                    raise EndpointError("the LLM answered with no words")
                turn = self._judge(line, reply.text, *await watch.turn(talk.errors), offered)
                self._played.turns.append((number, turn))
                self._on_turn(turn)
                clock.now += TURN_LASTS
                # A person takes longer to speak than it takes to embed what was said.
                await asyncio.to_thread(engine.flush, indexed=True)

    def _judge(
        self,
        line: Line,
        reply: str,
        found: Recollection,
        packed: Packed,
        user: Turn,
        assistant: Turn,
        offered: set[str],
    ) -> PlayedTurn:
        if line.key:
            self._chunks[line.key, "user"] = chunk_id(user.id)
            self._chunks[line.key, "assistant"] = chunk_id(assistant.id)
        wanted = self._chunks[line.expects, line.half] if line.expects else ""
        offered |= {hit.memory.id for hit in packed.hits}
        return PlayedTurn(
            line=line,
            reply=reply,
            user_turn=user.id,
            assistant_turn=assistant.id,
            ms=found.timings["wait"],
            stage=found.stage,
            block=packed.text,
            tokens=packed.tokens,
            recalled=[_recalled(hit, wanted) for hit in packed.hits],
            found=wanted in offered if wanted else None,
        )


class _Watch:
    """Waits for what the processor tells of each turn."""

    def __init__(self, memory: HybridContextualMemoryProcessor) -> None:
        self._recalled: asyncio.Queue[tuple[Recollection, Packed]] = asyncio.Queue()
        self._stored: asyncio.Queue[tuple[Turn, Turn]] = asyncio.Queue()
        memory.add_event_handler("on_memory_recalled", self._on_recalled)
        memory.add_event_handler("on_exchange_stored", self._on_stored)

    async def _on_recalled(self, _: Any, found: Recollection, packed: Packed) -> None:
        self._recalled.put_nowait((found, packed))

    async def _on_stored(self, _: Any, user: Turn, assistant: Turn) -> None:
        self._stored.put_nowait((user, assistant))

    async def turn(self, errors: Sequence[str]) -> tuple[Recollection, Packed, Turn, Turn]:
        """Return what was recalled for the turn, and its two halves once they are durable."""
        try:
            async with asyncio.timeout(_DURABLE_S):
                return *await self._recalled.get(), *await self._stored.get()
        except TimeoutError:
            what = f"memory did not keep a turn within {_DURABLE_S:g} s"
            raise StoreError(what, hint=errors[-1] if errors else "") from None


def _recalled(hit: Hit, wanted: str) -> Recalled:
    return Recalled(
        at=hit.memory.valid_from,
        who=hit.memory.speaker,
        text=hit.memory.text,
        score=hit.score,
        expected=hit.memory.id == wanted,
    )


def _turns(engine: MemoryEngine) -> int:
    with engine.snapshot() as snapshot:
        return sum(session.turns for session in snapshot.sessions(SCOPE))
