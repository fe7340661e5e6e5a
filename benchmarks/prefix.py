"""Does memory break the LLM's prefix cache? What must be read anew at each turn, by placement.

A local LLM server keeps the keys and values of the prompt it saw last, its own reply included, and
reads anew only what comes after the longest common prefix. Whoever changes something near the top
makes it read the whole conversation again, at every turn.

The same conversation runs through the real pipeline, with Pipecat's aggregators and OpenAI service,
against a scripted server on loopback that answers with fixed words, once for each placement. It is
what one of the hand-written diaries (``benchmarks/data/diaries``) says after its first sessions,
which are the past, with the questions that it asks of its memory in between. The requests as they arrived are written out as a ChatML prompt. Tokens are
estimated, the same way for all. The first turn, which every server reads whole, is not counted; with
memory its prompt is longer by the one line that explains the blocks.

    python -m benchmarks.prefix --turns 20 50 200

The conversation has fifty turns; a longer one goes through them again in slightly other words, so that
less and less is left to recall that is not visible yet.

The JSON: ``results``, one a length: ``turns``, and ``arms`` by placement, in tokens:
``new``, ``new_words`` and ``block`` (means over the turns), ``max`` (of ``new``), ``broken`` (turns that
changed what a server held) and ``prompt`` (the last one's size).
"""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from loguru import logger
from msgspec import Struct
from pipecat.frames.frames import Frame, LLMContextFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from benchmarks import common
from benchmarks.lives.model import FOLDER, Exchange, load
from benchmarks.tables import table
from slowcat_memory import HybridContextualMemoryProcessor
from slowcat_memory.core.text.normalize import estimate_tokens
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Event, SessionEdge, Turn
from slowcat_memory.runtime.injection import message_text
from slowcat_memory.testing.headless import HeadlessConversation
from slowcat_memory.testing.server import ScriptedServer

Arm = Callable[[MemoryEngine], FrameProcessor]
Message = dict[str, Any]

DIARY = load(FOLDER / "nurse_on_nights.toml")
SCOPE, PAST = "user", 4  # sessions
WRITTEN = 50  # turns that repeat nothing
AGAIN = ("", "Once more, please. ", "I lost my notes. ", "Say that again tomorrow. ")


class Mem0Placement(FrameProcessor):
    """As ``pipecat.services.mem0.Mem0MemoryService`` places what it finds, by default.

    It inserts a message at ``position=1`` of the context for each turn that finds anything, and takes
    none away: blocks pile up near the top, the newest first, and everything below moves. This stand-in
    asks our engine, for the same user messages with the same options, and stores nothing.
    """

    def __init__(self, engine: MemoryEngine) -> None:
        super().__init__()
        self._engine = engine
        self._asked: Any = None

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame) and direction is FrameDirection.DOWNSTREAM:
            messages: list[Any] = list(frame.context.messages)
            users = [m for m in messages if m.get("role") == "user"]
            said = [m for m in users if not str(m["content"]).startswith("<memories>")]
            if said and said[-1] is not self._asked:
                self._asked = said[-1]
                found = await self._engine.recall(said[-1]["content"], SCOPE)
                if block := self._engine.blocks.pack(found, self._engine.clock()).text:
                    messages.insert(min(1, len(messages)), {"role": "user", "content": block})
                    frame.context.set_messages(messages)
        await self.push_frame(frame, direction)


# Ours is a prefix inside the new user message, never touched again.
ARMS: dict[str, Arm | None] = {
    "no memory": None,
    "ours": lambda engine: HybridContextualMemoryProcessor(engine=engine, user_id=SCOPE),
    "Mem0's": Mem0Placement,
}
REPLY_BEGINS = "<|im_start|>assistant\n"
# A message that is nothing but a block goes with its frame; inside a message only the block goes.
BLOCK = re.compile(
    r"<\|im_start\|>\w+\n<memories>\n.*?</memories>\s*<\|im_end\|>\n|<memories>\n.*?</memories>\s*",
    re.S,
)


class Step(Struct, frozen=True):
    """What one request cost a server that had seen the one before.

    Attributes:
        new: Tokens after the longest common prefix.
        new_words: The same without blocks of memories.
        block: Tokens in blocks among the new ones.
        broken: Whether the prompt before is no longer a prefix of this one.
        prompt: Tokens of the whole prompt.
    """

    new: int
    new_words: int
    block: int
    broken: bool
    prompt: int


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument(
        "--turns", type=int, nargs="+", default=[20, 50, 200], help="lengths (default 20 50 200)"
    )
    options = parser.parse_args()
    logger.remove()  # Pipecat tells a lot
    results = []
    with common.scratch() as folder:
        _fill(folder / "past")
        for turns in options.turns:
            arms = {}
            for name, arm in ARMS.items():
                with common.console.status(f"{turns} turns, {name}"):
                    shutil.copytree(folder / "past", folder / f"{turns} {name}")
                    requests = asyncio.run(_talk(folder / f"{turns} {name}", arm, turns))
                arms[name] = summarise(list(steps(requests, talk(turns))))
            results.append({"turns": turns, "arms": arms})
    print(report({"results": results}))
    common.write_json(options.json, {"results": results})


def render(messages: Sequence[Message]) -> str:
    """Write messages as a ChatML prompt, up to where the reply begins.

    Args:
        messages: Of a chat request.

    Returns:
        The prompt.
    """
    written = (f"<|im_start|>{m['role']}\n{message_text(m)}<|im_end|>\n" for m in messages)
    return "".join(written) + REPLY_BEGINS


def steps(requests: Sequence[Sequence[Message]], talk: Sequence[tuple[str, str]]) -> Iterator[Step]:
    """Compare each request with what a server holds after the one before it.

    Args:
        requests: The messages of each.
        talk: What was said and answered; the answers are in the server's cache as well.

    Yields:
        A step for each request but the first.
    """
    prompts = [render(messages) for messages in requests]
    for place in range(1, len(prompts)):
        before, now = prompts[place - 1], prompts[place]
        same = len(os.path.commonprefix((before + talk[place - 1][1], now)))
        blocks = [now[max(same, m.start()) : max(same, m.end())] for m in BLOCK.finditer(now)]
        words = "".join(_outside(now, same))
        yield Step(
            new=estimate_tokens(now[same:]),
            new_words=estimate_tokens(words),
            block=sum(estimate_tokens(block) for block in blocks),
            broken=same < len(before),
            prompt=estimate_tokens(now),
        )


def _outside(prompt: str, start: int) -> Iterator[str]:
    """Yield what stands outside of blocks from a place on."""
    for found in BLOCK.finditer(prompt):
        yield prompt[start : max(start, found.start())]
        start = max(start, found.end())
    yield prompt[start:]


def summarise(taken: Sequence[Step]) -> dict[str, float]:
    """Sum a conversation of at least one step up; see the module."""
    means = {name: mean(getattr(s, name) for s in taken) for name in ("new", "new_words", "block")}
    broken = sum(step.broken for step in taken)
    return {**means, "max": max(s.new for s in taken), "broken": broken, "prompt": taken[-1].prompt}


def talk(turns: int) -> list[tuple[str, str]]:
    """Return what is said and answered in a conversation, at most four times ``WRITTEN`` turns."""
    said = [
        (s.at, turn.user, turn.agent) for s in DIARY.sessions[PAST:] for turn in _plain(s.turns)
    ]
    asked = [(ask.at, ask.question, "") for ask in DIARY.asks]
    spoken = sorted([*said, *asked], key=lambda one: one[0])[:WRITTEN]
    assert len(spoken) == WRITTEN and turns <= len(AGAIN) * WRITTEN
    rounds = [(f"{again}{user}", agent or "I see.") for again in AGAIN for _, user, agent in spoken]
    return rounds[:turns]


def _plain(turns: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yield exchanges without commands, which the memory answers itself."""
    return (turn for turn in turns if turn.kind != "command")


def _past() -> Iterator[list[Event]]:
    for session in DIARY.sessions[:PAST]:
        at, name = session.at.replace(tzinfo=UTC), f"{session.at:%Y-%m-%d}"
        said = [words for turn in _plain(session.turns) for words in (turn.user, turn.agent)]
        turns = [
            Turn(session=name, scope=SCOPE, speaker=("Assistant" if n % 2 else DIARY.user),
                 role=("assistant" if n % 2 else "user"), text=words,
                 at=at + timedelta(seconds=15 * n))
            for n, words in enumerate(said)
        ]  # fmt: skip
        end = SessionEdge(session=name, scope=SCOPE, kind="end", at=turns[-1].at, reason="silence")
        yield [SessionEdge(session=name, scope=SCOPE, kind="start", at=at), *turns, end]


def _fill(path: Path) -> None:
    with closing(MemoryEngine(_config(path))) as engine:
        for session in _past():
            engine.append(*session)
        engine.flush(indexed=True)


async def _talk(path: Path, arm: Arm | None, turns: int) -> list[list[Message]]:
    """Hold the conversation; the messages of each request as the server got them."""
    now = DIARY.sessions[PAST].at.replace(tzinfo=UTC)
    exchanges = talk(turns)
    answers = iter(answer for _, answer in exchanges)
    with closing(MemoryEngine(_config(path), clock=lambda: now)) as engine:
        engine.prepare(SCOPE)
        async with ScriptedServer(
            reply=lambda request: next(answers) if request.get("stream") else ""
        ) as server:
            memory = arm(engine) if arm else None
            async with HeadlessConversation(
                llm_url=server.url, memory=memory, speaker=DIARY.user
            ) as conversation:
                for said, _ in exchanges:
                    await conversation.say(said)
            return [request["messages"] for request in server.requests if request.get("stream")]


def _config(path: Path) -> Any:
    # Without a deadline, and by a clock that stands still, every run recalls the same.
    return common.configuration(path, recall={"deadline_ms": 10_000.0})


def report(written: Mapping[str, Any]) -> str:
    """Write the results as Markdown."""
    columns = (
        "turns: placement",
        "new a turn",
        "max",
        "without blocks",
        "block a turn",
        "prefix broken",
        "last prompt",
    )
    rows = [
        (
            f"{result['turns']}: {name}",
            arm["new"],
            arm["max"],
            arm["new_words"],
            arm["block"],
            f"{arm['broken']} times",
            arm["prompt"],
        )
        for result in written["results"]
        for name, arm in result["arms"].items()
        if name in ARMS
    ]
    return f"Tokens:\n\n{table(columns, rows)}"


if __name__ == "__main__":
    main()
