"""What happened in a play, and what it comes to. Computes; plays nothing and prints nothing."""

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct, field

from slowcat_memory.cli.demo.script import Line

LIMIT_MS = 10.0  # what a recall may take


class Recalled(Struct, frozen=True, kw_only=True):
    """One memory that was put before the LLM.

    Attributes:
        at: When it was said.
        who: Who said it.
        text: The words.
        score: Its score.
        expected: Whether the script waited for it.
    """

    at: datetime
    who: str
    text: str
    score: float
    expected: bool


class PlayedTurn(Struct, frozen=True, kw_only=True):
    """One exchange, and what memory did for it.

    Attributes:
        line: The script's line.
        reply: What the assistant said.
        user_turn: Log id of the user's half.
        assistant_turn: Log id of the assistant's half.
        ms: How long the turn waited for its memories.
        stage: How far recall came.
        block: What was put before the user's words, "" when nothing was.
        tokens: The block's estimated size.
        recalled: What the block holds, best first.
        found: Whether the expected memory is in this block or in one further up; None when the
            script expects none.
    """

    line: Line
    reply: str
    user_turn: int
    assistant_turn: int
    ms: float
    stage: str
    block: str
    tokens: int
    recalled: list[Recalled]
    found: bool | None

    @property
    def admitted(self) -> bool:
        """Whether nothing was recalled, or the reply says that it does not know."""
        return not self.recalled or "don't know" in self.reply.casefold()


class Opened(Struct, frozen=True, kw_only=True):
    """The start of an evening.

    Attributes:
        number: Which, from 1.
        at: When.
        days: Since the evening before, 0 for the first.
        turns: How many turns the store holds already.
        open_ms: How long it took to open the store and to load the index.
        embedding: Which model makes vectors, or why none does.
    """

    number: int
    at: datetime
    days: int
    turns: int
    open_ms: float
    embedding: str


class Played(Struct, kw_only=True):
    """All that was played.

    Attributes:
        evenings: Each one's start.
        turns: The exchanges, in order, with the evening's number.
        stored: How many turns the store holds at the end.
    """

    evenings: list[Opened] = field(default_factory=list)
    turns: list[tuple[int, PlayedTurn]] = field(default_factory=list)
    stored: int = 0


class Result(Struct, frozen=True, kw_only=True):
    """The sum of a play.

    Attributes:
        ok: Whether every essential memory was recalled.
        sessions: How many.
        days: From the first to the last.
        turns_stored: Turns of both sides in the store at the end.
        recalls: How many turns asked the memory.
        recall_ms: Their p50, p95 and max.
        slow: How many took longer than ``LIMIT_MS``.
        questions: Questions whose answer had been said.
        found: For how many of them the right memory stood before the LLM.
        paraphrased: How many of them share no word with what they ask for.
        paraphrased_found: For how many of those it did.
        essential: Questions that must be found.
        essential_found: How many of them were.
        unknown: Questions whose answer was never said.
        unknown_admitted: For how many of them nothing was recalled, or the reply says so.
        block_tokens: Mean size of a block, over the turns that had one.
        vectors: Whether recall used vectors.
        seconds: How long the play took.
    """

    ok: bool
    sessions: int
    days: int
    turns_stored: int
    recalls: int
    recall_ms: dict[str, float]
    slow: int
    questions: int
    found: int
    paraphrased: int
    paraphrased_found: int
    essential: int
    essential_found: int
    unknown: int
    unknown_admitted: int
    block_tokens: float
    vectors: bool
    seconds: float


def summarise(played: Played, *, vectors: bool, own_llm: bool, seconds: float) -> Result:
    """Judge a play.

    Args:
        vectors: Whether a model was at hand; without one only shared words can be found.
        own_llm: Whether the user's LLM spoke; what it advised is not in the script then.
    """
    turns = [turn for _, turn in played.turns]
    times = [turn.ms for turn in turns]
    asked = [turn for turn in turns if turn.found is not None]
    paraphrased = [turn for turn in asked if turn.line.needs == "vectors"]
    must = [turn for turn in asked if _essential(turn, vectors, own_llm)]
    unknown = [turn for turn in turns if turn.line.unknown]
    blocks = [turn.tokens for turn in turns if turn.block]
    found = [turn for turn in must if turn.found]
    return Result(
        ok=bool(must) and len(found) == len(must),
        sessions=len(played.evenings),
        days=sum(opened.days for opened in played.evenings),
        turns_stored=played.stored,
        recalls=len(turns),
        recall_ms={
            "p50": _percentile(times, 50),
            "p95": _percentile(times, 95),
            "max": _percentile(times, 100),
        },
        slow=sum(ms > LIMIT_MS for ms in times),
        questions=len(asked),
        found=sum(turn.found is True for turn in asked),
        paraphrased=len(paraphrased),
        paraphrased_found=sum(turn.found is True for turn in paraphrased),
        essential=len(must),
        essential_found=len(found),
        unknown=len(unknown),
        unknown_admitted=sum(turn.admitted for turn in unknown),
        block_tokens=round(sum(blocks) / len(blocks), 1) if blocks else 0.0,
        vectors=vectors,
        seconds=round(seconds, 2),
    )


def _essential(turn: PlayedTurn, vectors: bool, own_llm: bool) -> bool:
    line = turn.line
    if (line.needs == "vectors" and not vectors) or (line.half == "assistant" and own_llm):
        return False
    return line.essential


def _percentile(values: Sequence[float], percent: float) -> float:
    return round(float(np.percentile(values, percent)), 2) if values else 0.0
