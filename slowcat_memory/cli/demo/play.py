"""Plays the demo's story through a real pipeline, and checks the recalled memories.

Each session opens its own engine on the same folder and closes it afterwards, so the next session
recalls from disk. The clock follows the story. Nothing sleeps: a turn is over when both of its
halves are stored.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from msgspec import Struct

from slowcat_memory.cli.demo.script import USER, Evening, Line
from slowcat_memory.config import Config
from slowcat_memory.core.graph.relations import ALWAYS
from slowcat_memory.core.memory import NOTE, chunk_id
from slowcat_memory.core.render.memory_block import Packed
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.engine.search import read_graph
from slowcat_memory.errors import EndpointError, StoreError
from slowcat_memory.processor import HybridContextualMemoryProcessor
from slowcat_memory.records import Turn
from slowcat_memory.runtime.injection import without_block
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.testing.doubles import FixedClock
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.parrot import message_text, parrot

SCOPE = USER.casefold()
LIMIT_MS = 10.0  # the deadline of a recall in a real agent
_TURN_S = 25.0  # how long a turn lasts by the story's clock
_NIGHT_S = 6 * 3600.0  # from the end of an evening to its idle work
NIGHT_JOBS = ("facts", "entities", "merge", "session_summary", "profile")
NO_RECALL, NO_BLOCK = Recollection(stage="skipped"), Packed("", (), 0)  # of a voice command
_ANSWER_S = 300.0  # the user's own model may have to be loaded first
_STORED_S = 10.0  # a disk slower than this has failed


class Recalled(Struct, frozen=True, kw_only=True):
    """A memory in the block; ``expected`` if the story's question asks for this one."""

    at: datetime
    speaker: str
    text: str
    score: float
    likely: float  # the probability that it belongs to the turn, 0 to 1
    expected: bool


class Session(Struct, frozen=True, kw_only=True):
    """The start of a session: turns already in the store, and ms to open the store and index."""

    number: int
    at: datetime
    days: int  # since the session before
    turns: int
    open_ms: float


class Fact(Struct, frozen=True, kw_only=True):
    """A fact, and the days between which it is true; None for still."""

    text: str
    since: datetime
    until: datetime | None


class Night(Struct, frozen=True, kw_only=True):
    """What idle work has drawn from the conversations by the end of a night."""

    facts: list[Fact]


class Then(Struct, frozen=True, kw_only=True):
    """What was true of the user's work at a moment, in a sentence; ``first`` of several moments."""

    at: datetime
    facts: str
    first: bool


class Exchange(Struct, frozen=True, kw_only=True):
    """One exchange, and the recall for it."""

    line: Line
    reply: str
    user_turn: int
    assistant_turn: int
    ms: float  # time the turn waited for its memories; 0 for a voice command
    stage: str  # the recall stage reached: "full", "lexical", …
    block: str  # the memory block, "" when nothing was recalled
    tokens: int  # estimated tokens of the block
    recalled: list[Recalled]  # the memories in the block, best first
    # whether the expected memory is in this block or an earlier one of the session; None when the
    # story expects none
    found: bool | None


def scripted_reply(story: Sequence[Evening]) -> Callable[[dict[str, Any]], str]:
    """Return the story's replies, with the parrot's where it has none."""
    replies = {line.text: line.reply for evening in story for line in evening.lines}

    def reply(request: dict[str, Any]) -> str:
        words = without_block(message_text(request["messages"][-1])).strip()
        return replies.get(words) or parrot(request, trusting=True)

    return reply


Item = Session | Exchange | Night | Then
"""What a demo consists of, in the order in which it happens."""


class Player:
    """Plays a story; ``stored`` is the number of turns after the last session."""

    def __init__(
        self, config: Config, llm_url: str, llm_model: str, show: Callable[[Item], None]
    ) -> None:
        """Set the store, the LLM, and ``show``, called with each ``Item``."""
        self._config, self._url, self._model, self._show = config, llm_url, llm_model, show
        self._chunks: dict[tuple[str, str], str] = {}  # by line key and half
        self.sessions: list[Session] = []
        self.exchanges: list[Exchange] = []
        self.night: Night | None = None
        self.then: list[Then] = []
        self.stored = 0

    async def play(self, story: Sequence[Evening]) -> None:
        """Play a story to its end.

        Raises:
            SlowcatError: The store or the LLM failed.
        """
        for evening in story:
            clock, start = FixedClock(evening.at), time.perf_counter()
            engine = await asyncio.to_thread(MemoryEngine, self._config, clock=clock)
            try:
                await asyncio.to_thread(engine.prepare, SCOPE)
                self._begin(evening, engine, start)
                await self._converse(evening, engine, clock)
                self.stored = _stored_turns(engine)
                if evening.night:
                    await asyncio.to_thread(self._think, engine, clock)
                if evening is story[-1]:
                    self._look_back(engine, (evening.at, *(one.at for one in story[1:2])))
            finally:
                await asyncio.to_thread(engine.release)  # embeds and saves what is pending

    def _begin(self, evening: Evening, engine: MemoryEngine, start: float) -> None:
        before = self.sessions[-1].at if self.sessions else evening.at
        session = Session(
            number=len(self.sessions) + 1,
            at=evening.at,
            days=(evening.at.date() - before.date()).days,
            turns=_stored_turns(engine),
            open_ms=(time.perf_counter() - start) * 1e3,
        )
        self.sessions.append(session)
        self._show(session)

    def _think(self, engine: MemoryEngine, clock: FixedClock) -> None:
        clock.advance(_NIGHT_S)
        engine.think(NIGHT_JOBS)
        self.night = Night(facts=_facts(engine))
        self._show(self.night)

    def _look_back(self, engine: MemoryEngine, moments: Sequence[datetime]) -> None:
        for at in sorted(moments):
            true = read_graph(engine, SCOPE, true=at).relations
            work = " ".join(one.text for one in true if one.predicate == "works_as")
            self.then.append(Then(at=at, facts=work, first=not self.then))
            self._show(self.then[-1])

    async def _converse(self, evening: Evening, engine: MemoryEngine, clock: FixedClock) -> None:
        memory = HybridContextualMemoryProcessor(engine=engine, user_id=SCOPE)
        recalled: asyncio.Queue[tuple[Recollection, Packed]] = asyncio.Queue()
        stored: asyncio.Queue[tuple[Turn, Turn]] = asyncio.Queue()

        @memory.event_handler("on_memory_recalled")
        async def on_recalled(_: Any, found: Recollection, packed: Packed) -> None:
            recalled.put_nowait((found, packed))

        @memory.event_handler("on_exchange_stored")
        async def on_stored(_: Any, user: Turn, assistant: Turn) -> None:
            stored.put_nowait((user, assistant))

        injected: set[str] = set()  # memories that are in the conversation already
        async with HeadlessConversation(
            llm_url=self._url, llm_model=self._model, memory=memory, speaker=""
        ) as conversation:
            for line in evening.lines:
                reply = await conversation.say(line.text, timeout_s=_ANSWER_S)
                if not reply.text:
                    raise EndpointError("the LLM answered with no words")
                try:
                    async with asyncio.timeout(_STORED_S):
                        found, packed = (
                            (NO_RECALL, NO_BLOCK) if line.command else await recalled.get()
                        )
                        turns = await stored.get()
                except TimeoutError:
                    hint = conversation.errors[-1] if conversation.errors else ""
                    raise StoreError(f"no turn stored within {_STORED_S:g} s", hint=hint) from None
                exchange = self._judge(engine, line, reply.text, found, packed, turns, injected)
                self.exchanges.append(exchange)
                self._show(exchange)
                clock.advance(_TURN_S)
                # Real speech takes longer than embedding what was said.
                await asyncio.to_thread(engine.flush, indexed=True)

    def _judge(
        self,
        engine: MemoryEngine,
        line: Line,
        reply: str,
        found: Recollection,
        packed: Packed,
        turns: tuple[Turn, Turn],
        injected: set[str],
    ) -> Exchange:
        user, assistant = turns
        if line.key and line.command:
            self._chunks[line.key, "note"] = _note_of(engine, user)
        elif line.key:
            self._chunks[line.key, "user"] = chunk_id(user.id)
            self._chunks[line.key, "assistant"] = chunk_id(assistant.id)
        wanted = self._chunks[line.expects, line.half] if line.expects else ""
        injected |= {hit.memory.id for hit in packed.hits}
        return Exchange(
            line=line,
            reply=reply,
            user_turn=user.id,
            assistant_turn=assistant.id,
            ms=found.timings.get("wait", 0.0),
            stage=found.stage,
            block=packed.text,
            tokens=packed.tokens,
            recalled=[
                Recalled(
                    at=hit.memory.valid_from,
                    speaker=hit.memory.speaker,
                    text=hit.memory.text,
                    score=hit.score,
                    likely=hit.probability or 0.0,
                    expected=hit.memory.id == wanted,
                )
                for hit in packed.hits
            ],
            found=wanted in injected if wanted else None,
        )

    def summary(self, *, vectors: bool, own_llm: bool) -> dict[str, Any]:
        """Count the recalled memories, and judge the result.

        Args:
            vectors: Whether an embedding model was used; without one only shared words are found.
            own_llm: Whether a real LLM answered; its advice then differs from the story's.
        """

        def essential(one: Exchange) -> bool:
            line = one.line
            reachable = vectors or line.needs == "words"
            return line.essential and reachable and not (own_llm and line.half == "assistant")

        def found(some: list[Exchange]) -> int:
            return sum(one.found is True for one in some)

        asked = [one for one in self.exchanges if one.found is not None]
        paraphrased = [one for one in asked if one.line.needs == "vectors"]
        must = [one for one in asked if essential(one)]
        unknown = [one for one in self.exchanges if one.line.unknown]
        times = [one.ms for one in self.exchanges if not one.line.command]
        blocks = [one.tokens for one in self.exchanges if one.block]
        percentiles = np.percentile(times, [50, 95, 100]).round(2).tolist()
        return {
            "ok": bool(must) and found(must) == len(must),
            "sessions": len(self.sessions),
            "days": sum(session.days for session in self.sessions),
            "turns_stored": self.stored,
            "recalls": len(times),
            "facts": len(self.night.facts) if self.night else 0,
            "recall_ms": dict(zip(("p50", "p95", "max"), percentiles, strict=True)),
            "slow": sum(ms > LIMIT_MS for ms in times),
            "questions": len(asked),
            "found": found(asked),
            "paraphrased": len(paraphrased),
            "paraphrased_found": found(paraphrased),
            "essential": len(must),
            "essential_found": found(must),
            "unknown": len(unknown),
            "unknown_admitted": sum(
                not one.recalled or "don't know" in one.reply.casefold() for one in unknown
            ),
            "block_tokens": round(sum(blocks) / max(1, len(blocks)), 1),
            "vectors": vectors,
        }


def _note_of(engine: MemoryEngine, turn: Turn) -> str:
    """Return the id of the note that a voice command made."""
    with engine.snapshot() as snapshot:
        notes = snapshot.memories(SCOPE, f"{NOTE}/")
        return next((note.id for note in notes if turn.id in note.sources), "")


def _facts(engine: MemoryEngine) -> list[Fact]:
    """Return what is known after a night: the relations, newest first, ended ones last."""
    found = [one for one in read_graph(engine, SCOPE).relations if one.valid_from != ALWAYS]
    facts = [Fact(text=one.text, since=one.valid_from, until=one.valid_to) for one in found]
    return sorted(facts, key=lambda one: (one.until is not None, -one.since.timestamp()))


def _stored_turns(engine: MemoryEngine) -> int:
    with engine.snapshot() as snapshot:
        return sum(session.turns for session in snapshot.sessions(SCOPE))
