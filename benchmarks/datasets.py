"""A data folder in the uniform format: who said what, what is asked, and what answers it.

A folder holds ``conversations.jsonl.gz`` and ``questions.jsonl.gz`` (plain ``.jsonl`` is read as
well), and may hold ``low_overlap.txt``: the questions that share next to no word with their evidence.
Conversations: ``{"conversation_id", "sessions": [{"session_id", "started_at"?, "turns": [{"turn_id",
"speaker", "role", "text", "image_caption"?, "at"?}]}]}``; a session without a start has turns with
times. They are read as an import reads them (``Dataset.transcripts``), and once more for what only a
judge needs: the order of the sessions, and how many words a turn costs.
"""

import gzip
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.core.text.normalize import clean
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.transfer.transcript import (
    Transcript,
    TranscriptSession,
    Utterance,
    time_of,
    utc,
)

ADVERSARIAL = "adversarial"  # its evidence is the turn that lures: no recall can be right
LOW_OVERLAP = "low_overlap.txt"
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
        conversations: Their file.
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

    def transcripts(self) -> Iterator[Transcript]:
        """Yield the conversations that are asked about; a turn without words is left out."""
        for conversation in lines(self.conversations):
            chat = Transcript(conversation=conversation["conversation_id"])
            for session in conversation["sessions"]:
                begun = chat.begin(session["session_id"], time_of(session.get("started_at")))
                said = (turn for turn in session["turns"] if turn["text"].strip())
                begun.utterances += map(_utterance, said)
                begun.started = begun.started or next((turn.at for turn in begun.utterances), None)
            if self.asked(chat.conversation):
                yield chat

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
    dialogue: dict[str, tuple[str, ...]] = {}  # before a turn
    lists = set()
    for conversation in lines(conversations):
        for place, session in enumerate(conversation["sessions"]):
            id_, turns = session["session_id"], session["turns"]
            rank[id_], turns_of[id_] = place, [turn["turn_id"] for turn in turns]
            if not session.get("started_at") and all(turn.get("at") for turn in turns):
                lists.add(id_)
            said: tuple[str, ...] = ()
            for turn in turns:
                name, text = turn["turn_id"], turn["text"]
                session_of[name], dialogue[name] = id_, said
                said = (*said, f"{turn['speaker']}: {text}")
                words[name] = len(f"{text} {turn.get('image_caption') or ''}".split())
    questions = []
    for line in lines(_file(folder, "questions")):
        question = _question(line)
        if asked := line.get("asked_turn_id"):
            question = replace(question, context=dialogue[asked])
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
        inside = (path, *sorted(path.glob("*")))
        every = [each for each in inside if any(each.glob("questions.jsonl*"))]
        if not every:
            raise FileNotFoundError(f"{path} holds no questions.jsonl.gz, nor does a folder in it")
        found += every
    return found


def scope_of(conversation: str) -> str:
    """Name the scope that holds a conversation.

    Args:
        conversation: Its id.

    Returns:
        A valid scope.
    """
    return re.sub(r"[^a-z0-9_-]", "-", conversation.lower())[:64]


def _utterance(turn: dict[str, Any]) -> Utterance:
    photo = f" (photo: {turn['image_caption']})" if turn.get("image_caption") else ""
    return Utterance(
        speaker=turn["speaker"],
        text=clean(turn["text"] + photo)[0],
        role="assistant" if turn["role"] == "assistant" else "user",
        at=time_of(turn.get("at")),
        origin=turn["turn_id"],
    )


def _question(line: dict[str, Any]) -> Question:
    at = time_of(line.get("asked_at"))  # UTC without a zone, as every benchmark's engine has it
    return Question(
        id=line["question_id"],
        conversation=line["conversation_id"],
        text=line["question"],
        category=line.get("category") or "",
        evidence=frozenset(line.get("evidence_turn_ids") or ()),
        sessions=frozenset(line.get("evidence_session_ids") or ()),
        before=line.get("asked_before_session_id") or "",
        asked_at=at and utc(at, UTC),
        context=_context(line),
    )


def _context(line: dict[str, Any]) -> tuple[str, ...]:
    """Read the dialogue before a question; its last line is the question, which is left out."""
    told = [_QUOTED.sub(r"\1: \2", text) for text in line.get("context") or ()]
    if told and line["question"].strip() in told[-1]:
        told.pop()
    return tuple(told)


def _file(folder: Path, name: str) -> Path:
    for path in folder.glob(f"{name}.jsonl*"):
        return path
    raise FileNotFoundError(f"{folder} holds no {name}.jsonl.gz")


def lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines.

    Args:
        path: The file, compressed when it ends in ``.gz``.

    Returns:
        Its objects.
    """
    read = path.read_bytes()
    return msgspec.json.Decoder().decode_lines(
        gzip.decompress(read) if path.suffix == ".gz" else read
    )


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
