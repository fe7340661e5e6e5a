"""A data folder in the uniform format: who said what, what is asked, and what answers it.

A folder holds ``conversations.jsonl.gz`` and ``questions.jsonl.gz`` (plain ``.jsonl`` is read as
well), and may hold ``low_overlap.txt``: the questions that share next to no word with their evidence.
The conversations reach the product through ``slowcat_memory.replay``; here they are read once more
for what only a judge needs: the order of the sessions, and how many words a turn costs.
"""

import gzip
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.transfer.transcript import Transcript, TranscriptSession

ADVERSARIAL = "adversarial"  # its evidence is the turn that lures: no recall can be right
LOW_OVERLAP = "low_overlap.txt"
ENDINGS = (".jsonl.gz", ".jsonl")
_QUOTED = re.compile(r'<(.+?)>: *"(.*)"', re.S)


class Question(Struct, frozen=True, kw_only=True):
    """What is asked about a conversation.

    Attributes:
        id: Its id.
        conversation: Which conversation.
        text: The words.
        category: The data set's own name for its kind.
        evidence: Ids of the turns that answer it; empty when nobody knows them.
        sessions: Ids of the sessions that answer it; empty when nobody knows them.
        before: Only sessions before this one may be searched; "" for all.
        asked_at: When; None when the data does not say.
        context: The dialogue that the question ends, "speaker: words" by turn, without the
            question itself; empty when it was asked out of the blue.
    """

    id: str
    conversation: str
    text: str
    category: str = ""
    evidence: frozenset[str] = frozenset()
    sessions: frozenset[str] = frozenset()
    before: str = ""
    asked_at: datetime | None = None
    context: tuple[str, ...] = ()


class Dataset(Struct, frozen=True):
    """A folder's questions, and what judging their answers needs.

    Attributes:
        name: The folder's name.
        conversations: The file that ``slowcat_memory.replay`` reads.
        questions: In the file's order.
        words: Words of retrieved text by turn id.
        rank: Position in its conversation by session id.
        session_of: Session id by turn id.
        turns_of: Turn ids by session id, in order.
        lists: Ids of sessions that are no talk but a list of items, each with a time of its own:
            their order means nothing.
        low_overlap: Ids of the questions that share at most one content word with their evidence.
    """

    name: str
    conversations: Path
    questions: list[Question]
    words: dict[str, int]
    rank: dict[str, int]
    session_of: dict[str, str]
    turns_of: dict[str, list[str]]
    lists: frozenset[str] = frozenset()
    low_overlap: frozenset[str] = frozenset()

    def asked(self, conversation: str) -> list[Question]:
        """List a conversation's questions.

        Args:
            conversation: Its id.

        Returns:
            In the file's order.
        """
        return [question for question in self.questions if question.conversation == conversation]

    def place(self, session: str) -> float:
        """Tell where a session stands in its conversation.

        Args:
            session: Its id, "" for what comes after everything.

        Returns:
            Its position; infinity when there is no such session.
        """
        return self.rank.get(session, math.inf)


def load(folder: Path) -> Dataset:
    """Read a data folder.

    Args:
        folder: The folder.

    Returns:
        The data set.

    Raises:
        FileNotFoundError: The folder is not one of this format.
    """
    conversations = _file(folder, "conversations")
    words, rank, session_of, turns_of = {}, {}, {}, {}
    said: dict[str, str] = {}
    lists = set()
    for conversation in lines(conversations):
        for place, session in enumerate(conversation["sessions"]):
            id_, turns = session["session_id"], session["turns"]
            rank[id_], turns_of[id_] = place, [turn["turn_id"] for turn in turns]
            if not session.get("started_at") and all(turn.get("at") for turn in turns):
                lists.add(id_)
            for turn in turns:
                session_of[turn["turn_id"]] = id_
                said[turn["turn_id"]] = f"{turn['speaker']}: {turn['text']}"
                texts = (turn["text"], turn.get("image_caption") or "")
                words[turn["turn_id"]] = sum(len(text.split()) for text in texts)
    questions = []
    for line in lines(_file(folder, "questions")):
        question = _question(line)
        if asked := line.get("asked_turn_id"):
            talk = turns_of[session_of[asked]]
            context = tuple(said[turn] for turn in talk[: talk.index(asked)])
            question = replace(question, context=context)
        questions.append(question)
    low = folder / LOW_OVERLAP
    return Dataset(
        name=folder.name,
        conversations=conversations,
        questions=questions,
        words=words,
        rank=rank,
        session_of=session_of,
        turns_of=turns_of,
        lists=frozenset(lists),
        low_overlap=frozenset(low.read_text().split() if low.is_file() else ()),
    )


def find(paths: Iterable[Path]) -> list[Path]:
    """Find the data folders that are meant.

    Args:
        paths: Data folders, and folders of data folders.

    Returns:
        Data folders; those of one parent by name.

    Raises:
        FileNotFoundError: One of the paths is neither.
    """
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.iterdir()) if path.is_dir() else []
        every = [each for each in (path, *inside) if is_data(each)]
        if not every:
            raise FileNotFoundError(
                f"{path} holds no conversations.jsonl.gz, nor does a folder in it"
            )
        found += every[:1] if every[0] == path else every
    return found


def is_data(folder: Path) -> bool:
    """Tell whether a folder is one of this format.

    Args:
        folder: Any path.

    Returns:
        Whether both files are there.
    """
    return all(
        any((folder / f"{name}{ending}").is_file() for ending in ENDINGS)
        for name in ("conversations", "questions")
    )


def scope_of(conversation: str) -> str:
    """Name the scope that holds a conversation.

    Args:
        conversation: Its id.

    Returns:
        A valid scope.
    """
    return re.sub(r"[^a-z0-9_-]", "-", conversation.lower())[:64]


def _question(line: dict[str, Any]) -> Question:
    return Question(
        id=line["question_id"],
        conversation=line["conversation_id"],
        text=line["question"],
        category=line.get("category") or "",
        evidence=frozenset(line.get("evidence_turn_ids") or ()),
        sessions=frozenset(line.get("evidence_session_ids") or ()),
        before=line.get("asked_before_session_id") or "",
        asked_at=_time(line.get("asked_at")),
        context=_context(line),
    )


def _context(line: dict[str, Any]) -> tuple[str, ...]:
    """Read the dialogue before a question; its last line is the question, which is left out."""
    told = [_QUOTED.sub(r"\1: \2", text) for text in line.get("context") or ()]
    if told and line["question"].strip() in told[-1]:
        told.pop()
    return tuple(told)


def _time(text: str | None) -> datetime | None:
    """Read a time; one without a zone counts as UTC, the zone of every benchmark's engine."""
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _file(folder: Path, name: str) -> Path:
    for ending in ENDINGS:
        if (path := folder / f"{name}{ending}").is_file():
            return path
    raise FileNotFoundError(f"{folder} holds no {name}.jsonl.gz")


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines.

    Args:
        path: The file, compressed when it ends in ``.gz``.

    Returns:
        Its objects.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


# -------------------------------------------------------------------- in the order of telling


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
