"""A conversation session by session, as it took place, and what is asked about it on the way."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from benchmarks.datasets import Dataset, Question
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.transfer import Transcript, TranscriptSession

Step = tuple[list[Question], list[TranscriptSession]]
"""What is asked, and what is told then."""


def steps(data: Dataset, transcript: Transcript) -> Iterator[Step]:
    """Yield a conversation session by session, with the questions that come before each.

    A list of items that nobody said one after the other is as many sessions of one item.
    """
    pending = data.asked(transcript.conversation)
    for session in transcript.sessions:
        due = [q for q in pending if data.place(q.before) <= data.place(session.id)]
        pending = [q for q in pending if q not in due]
        yield due, list(_apart(session)) if session.id in data.lists else [session]
    yield pending, []


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


def _apart(session: TranscriptSession) -> Iterator[TranscriptSession]:
    for said in session.utterances:
        name = f"{session.id}/{said.origin}"
        yield replace(session, id=name, started=said.at, utterances=(said,))
