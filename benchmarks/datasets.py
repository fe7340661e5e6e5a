"""A data folder in the uniform format: who said what, what is asked, and what answers it.

A folder holds ``conversations.jsonl.gz`` and ``questions.jsonl.gz`` (plain ``.jsonl`` is read as
well). The conversations reach the product through ``slowcat_memory.replay``; here they are read once
more for what only a judge needs: the order of the sessions, and how many words a turn costs.
"""

import gzip
import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

ADVERSARIAL = "adversarial"  # its evidence is the turn that lures: no recall can be right


class Question(Struct, frozen=True, kw_only=True):
    """What is asked about a conversation.

    Attributes:
        id: Its id.
        conversation: Which conversation.
        text: The words.
        category: The data set's own name for its kind.
        evidence: Ids of the turns that answer it; empty when nobody knows them.
        before: Only sessions before this one may be searched; "" for all.
        asked_at: When; None when the data does not say.
    """

    id: str
    conversation: str
    text: str
    category: str = ""
    evidence: frozenset[str] = frozenset()
    before: str = ""
    asked_at: datetime | None = None


class Dataset(Struct, frozen=True):
    """A folder's questions, and what judging their answers needs.

    Attributes:
        name: The folder's name.
        conversations: The file that ``slowcat_memory.replay`` reads.
        questions: In the file's order.
        words: Words of retrieved text by turn id.
        rank: Position in its conversation by session id.
        session_of: Session id by turn id.
    """

    name: str
    conversations: Path
    questions: list[Question]
    words: dict[str, int]
    rank: dict[str, int]
    session_of: dict[str, str]

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
    words, rank, session_of = {}, {}, {}
    for conversation in _lines(conversations):
        for place, session in enumerate(conversation["sessions"]):
            rank[session["session_id"]] = place
            for turn in session["turns"]:
                session_of[turn["turn_id"]] = session["session_id"]
                said = (turn["text"], turn.get("image_caption") or "")
                words[turn["turn_id"]] = sum(len(text.split()) for text in said)
    questions = [_question(line) for line in _lines(_file(folder, "questions"))]
    return Dataset(folder.name, conversations, questions, words, rank, session_of)


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
        before=line.get("asked_before_session_id") or "",
        asked_at=_time(line.get("asked_at")),
    )


def _time(text: str | None) -> datetime | None:
    """Read a time; one without a zone counts as UTC, the zone of every benchmark's engine."""
    if not text:
        return None
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _file(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.jsonl.gz", folder / f"{name}.jsonl"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder} holds no {name}.jsonl.gz")


def _lines(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
