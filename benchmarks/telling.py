"""A conversation told to an engine session by session, as it took place, and asked about on the way."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from benchmarks import datasets
from benchmarks.datasets import Question
from benchmarks.thinking import Thinker
from slowcat_memory import transfer
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn
from slowcat_memory.runtime.recall.query import Recollection
from slowcat_memory.transfer import Transcript, TranscriptSession

Rankings = dict[str, list[str]]
Search = Callable[[MemoryEngine, Question, str, int, datetime | None], Recollection]
"""Asks an engine a question in a scope, for so many hits, at a time."""
Also = Callable[[MemoryEngine, Question, str, datetime], None]
"""Asks an engine a question in a scope, at a time, and keeps what comes."""


def search(
    engine: MemoryEngine, question: Question, scope: str, k: int, now: datetime | None
) -> Recollection:
    """Ask an engine as a conversation does, with the turns before; see ``Search``."""
    dialogue = dialogue_of(question, now or engine.clock())
    return engine.search(question.text, scope, k, now=now, dialogue=dialogue)


def dialogue_of(question: Question, at: datetime) -> tuple[DialogueTurn, ...]:
    """Take the turns before a question, as a conversation hands them over.

    Args:
        question: The question.
        at: When it is asked.

    Returns:
        Its last two, without the names of who spoke.
    """
    return tuple(DialogueTurn(told.partition(": ")[2], at) for told in question.context[-2:])


class Origins:
    """What the data calls a turn, by its number in an engine's log."""

    def __init__(self) -> None:
        """Know none."""
        self._names: dict[int, str] = {}

    def of(self, engine: MemoryEngine, turns: Sequence[int]) -> list[str]:
        """Name turns.

        Args:
            engine: Whose log it is; always the same one.
            turns: Numbers.

        Returns:
            The names of those that came from the data.
        """
        new = [turn for turn in turns if turn not in self._names]
        if new:
            engine.store.flush(None)  # a turn is findable before it is in the log
            with engine.store.snapshot() as snapshot:
                read = {turn: snapshot.turn(turn) for turn in new}
            self._names |= {turn: said.origin for turn, said in read.items() if said}
        return [self._names[turn] for turn in turns if turn in self._names]


def apart(session: TranscriptSession) -> Iterator[TranscriptSession]:
    """Make a session of each item of a list.

    Args:
        session: A session that is no talk (see ``Dataset.lists``).

    Yields:
        Sessions of one item.
    """
    for said in session.utterances:
        name = f"{session.id}/{said.origin}"
        yield replace(session, id=name, started=said.at, utterances=(said,))


class Teller:
    """Tells one conversation to an engine, and asks about it."""

    def __init__(
        self,
        engine: MemoryEngine,
        transcript: Transcript,
        search: Search,
        thinker: Thinker,
        also: Also | None = None,
    ) -> None:
        """Choose the conversation and how it is asked about.

        Args:
            engine: Whose memory it is.
            transcript: The conversation.
            search: Asks the engine.
            thinker: Does idle work on what was told before anything is asked.
            also: Asks each question once more in a way of its own, untimed.
        """
        self._engine = engine
        self._search, self._thinker, self._also = search, thinker, also
        self._scope = datasets.scope_of(transcript.conversation)
        self._origin: dict[int, str] = {}
        self._last: datetime | None = None
        self._fresh = False  # something was told that nobody has thought about, and has no vector

    def tell(self, session: TranscriptSession) -> None:
        """Log a session.

        Args:
            session: The session.
        """
        acks = transfer.ingest(self._engine, self._scope, session)
        turns = [ack.event for ack in acks if isinstance(ack.event, Turn)]
        for turn in turns:
            self._origin[turn.id] = turn.origin
            self._last = max(turn.at, self._last or turn.at)
        self._fresh = True

    def ask(self, questions: list[Question], k: int, run: Rankings, ms: list[float]) -> None:
        """Ask when everything told so far is indexed and embedded.

        Args:
            questions: What is asked.
            k: For how many hits.
            run: Takes the documents that are found, by question id.
            ms: Takes the time of each search.
        """
        if questions:
            self._catch_up()
        for question in questions:
            started = time.perf_counter()
            now = question.asked_at or self._last
            found = self._search(self._engine, question, self._scope, k, now)
            ms.append((time.perf_counter() - started) * 1e3)
            documents = (self._document(hit.memory.sources) for hit in found.hits)
            run[question.id] = [document for document in documents if document]
            if self._also:
                self._also(self._engine, question, self._scope, now or self._engine.clock())

    def _catch_up(self) -> None:
        if self._fresh:
            self._thinker.think(self._engine)
            self._engine.maintain("embed", self._scope)
        self._fresh = False

    def _document(self, turns: tuple[int, ...]) -> str:
        return "+".join(self._origin[turn] for turn in turns if turn in self._origin)
