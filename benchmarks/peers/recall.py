"""What peers find: the questions of a data folder.

Each conversation is a store of its own, filled session by session; a question that is asked before a
session sees what came before it. All peers get the same texts and the same vectors.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC
from pathlib import Path

from msgspec.structs import replace

from benchmarks import common, corpus, datasets
from benchmarks.datasets import ADVERSARIAL, Dataset, Question
from benchmarks.peers.stores import Item, K, Peer, open_peer
from benchmarks.telling import steps
from slowcat_memory import transfer
from slowcat_memory.core.memory import chunk, indexed_text
from slowcat_memory.providers import QueryEmbedder
from slowcat_memory.records import Turn
from slowcat_memory.transfer import Transcript
from slowcat_memory.transfer.import_ import moments

Step = tuple[list[Item], list[Question]]
"""What is told, and what is asked then."""


def recall(
    name: str, folder: Path, conversations: Sequence[Sequence[Step]], embedder: QueryEmbedder
) -> tuple[float, int]:
    """Measure a peer's R@10: the mean share of a question's evidence among the first ten.

    Args:
        name: Of the peer.
        folder: Where its stores go.
        conversations: From ``of_data``.
        embedder: For questions.

    Returns:
        The share, and how many questions count.
    """
    shares = []
    for place, told in enumerate(conversations):
        peer = open_peer(name, folder / str(place), embedder)
        try:
            shares += [share for step in told for share in _step(peer, step, embedder)]
        finally:
            peer.close()
    return round(sum(shares) / len(shares), 4), len(shares)


def _step(peer: Peer, step: Step, embedder: QueryEmbedder) -> Iterator[float]:
    items, questions = step
    peer.add_all(items)
    for question in questions:
        found = peer.search(question.text, embedder.encode_query(question.text), K)
        yield len(question.evidence & set(found[:K])) / len(question.evidence)


def of_data(data: Dataset, embedder: QueryEmbedder) -> list[list[Step]]:
    """Return the steps of a data folder by conversation, without questions that nobody can score."""
    scored = [q for q in data.questions if q.evidence and q.category != ADVERSARIAL]
    data = replace(data, questions=scored)
    return [
        list(_steps(data, transcript, embedder))
        for transcript in transfer.read(data.conversations)
        if data.asked(transcript.conversation)
    ]


def _steps(data: Dataset, transcript: Transcript, embedder: QueryEmbedder) -> Iterator[Step]:
    """Tell as much at once as is told between two questions."""
    told: list[Turn] = []
    scope = datasets.scope_of(transcript.conversation)
    for due, sessions in steps(data, transcript):
        if due:
            yield embedded(told, embedder), due
            told = []
        for part in sessions:
            for said, at in zip(part.utterances, moments(part, UTC), strict=True):
                told.append(
                    Turn(
                        session=part.id,
                        scope=scope,
                        speaker=said.speaker,
                        role=said.role,
                        text=said.text,
                        at=at,
                        origin=said.origin,
                    )
                )


def made_up(count: int, after: int = 0) -> list[Turn]:
    """Make everyday talk.

    Args:
        count: How many turns.
        after: How many were made before.

    Returns:
        Turns, with ids of their own.
    """
    talk = corpus.turns(count, common.SEED, after)
    turns = [event for _, events in talk for event in events if isinstance(event, Turn)]
    return [replace(turn, origin=f"t{after + n}") for n, turn in enumerate(turns)]


def embedded(turns: Sequence[Turn], embedder: QueryEmbedder) -> list[Item]:
    """Give turns their vectors.

    Args:
        turns: The turns.
        embedder: Makes the vectors.

    Returns:
        Items, in order.
    """
    vectors = embedder.encode([indexed_text(chunk(turn)) for turn in turns])
    return [Item(turn, vector) for turn, vector in zip(turns, vectors, strict=True)]
