"""Times peers side by side, and asks them the questions of a data folder.

Every text goes to all of them, in an order that changes, one at a time. So a minute in which the
machine is slow is slow for all, and nobody is always asked first. For recall each conversation is a
store of its own, filled session by session; a question that is asked before a session sees what came
before it. All peers get the same texts and the same vectors.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmarks import common, corpus, datasets
from benchmarks.datasets import ADVERSARIAL, Dataset, Question, steps
from benchmarks.peers.stores import Item, K, Peer, open_peer
from slowcat_memory.core.memory import chunk, indexed_text
from slowcat_memory.providers import Embedder
from slowcat_memory.records import Turn
from slowcat_memory.transfer.import_ import moments
from slowcat_memory.transfer.transcript import Transcript

Embed = Callable[[str], np.ndarray]
Samples = dict[str, list[float]]
WARM_UP = 10  # questions of each kind that are not counted


def add(peers: Mapping[str, Peer], items: Sequence[Item], embed: Embed) -> dict[str, Samples]:
    """Time adding one item at a time.

    Args:
        peers: By name, filled.
        items: New ones.
        embed: Our query embedder: what an item's vector costs who waits for it.

    Returns:
        Milliseconds by peer and figure: ``add`` with the vector at hand (for a peer that embeds: until
        the item is durable and found by its words), ``add_with_embedding`` until it has its vector.
    """
    made: dict[str, Samples] = {name: defaultdict(list) for name in peers}
    chance = random.Random(common.SEED)
    for item in items:
        for name in chance.sample(list(peers), len(peers)):
            peer = peers[name]
            began = time.perf_counter()
            if not peer.embeds:
                embed(item.text)
            embedded = time.perf_counter()
            peer.add(item)
            added = time.perf_counter()
            peer.settle()
            settled = time.perf_counter()
            made[name]["add"].append((added - embedded) * 1e3)
            made[name]["add_with_embedding"].append((settled - began) * 1e3)
    return made


def search(
    peers: Mapping[str, Peer],
    texts: Sequence[str],
    embed: Embed,
    *,
    ahead: bool = False,
    pause_s: float = 0.0,
) -> Samples:
    """Time searching; return milliseconds by peer.

    Args:
        peers: By name, filled.
        texts: What is asked, never asked before.
        embed: Makes vectors for peers that do not embed.
        ahead: Whether the vectors are at hand; else they are made while somebody waits.
        pause_s: Seconds of silence before each search of each peer.
    """
    made: Samples = {name: [] for name in peers}
    chance = random.Random(common.SEED)
    for place, text in enumerate(texts):
        vector = embed(text) if ahead else None
        for name in chance.sample(list(peers), len(peers)):
            if pause_s:
                time.sleep(pause_s)
            peer, began = peers[name], time.perf_counter()
            peer.search(text, vector if ahead or peer.embeds else embed(text), K)
            if place >= WARM_UP:
                made[name].append((time.perf_counter() - began) * 1e3)
    return made


# -------------------------------------------------------------------- what they find


Step = tuple[list[Item], list[Question]]
"""What is told, and what is asked then."""


def recall(
    name: str, folder: Path, conversations: Sequence[Sequence[Step]], embedder: Embedder
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
        with closing(open_peer(name, folder / str(place), embedder)) as peer:
            shares += [share for step in told for share in _step(peer, step, embedder)]
    return round(sum(shares) / len(shares), 4), len(shares)


def _step(peer: Peer, step: Step, embedder: Embedder) -> Iterator[float]:
    items, questions = step
    peer.add_all(items)
    for question in questions:
        found = peer.search(question.text, embedder.encode_query(question.text).vector, K)
        yield len(question.evidence & set(found[:K])) / len(question.evidence)


def of_data(data: Dataset, embedder: Embedder) -> list[list[Step]]:
    """Return the steps of a data folder by conversation, without questions that nobody can score."""
    scored = [q for q in data.questions if q.evidence and q.category != ADVERSARIAL]
    data = replace(data, questions=scored)
    return [list(_steps(data, told, embedder)) for told in data.transcripts()]


def _steps(data: Dataset, transcript: Transcript, embedder: Embedder) -> Iterator[Step]:
    """Tell as much at once as is told between two questions."""
    told: list[Turn] = []
    scope = datasets.scope_of(transcript.conversation)
    for due, sessions in steps(data, transcript):
        if due:
            yield embedded(told, embedder), due
            told = []
        for part in sessions:
            for said, at in zip(part.utterances, moments(part, UTC), strict=True):
                same = {name: getattr(said, name) for name in ("speaker", "role", "text", "origin")}
                told.append(Turn(session=part.id, scope=scope, at=at, **same))


def made_up(count: int, after: int = 0) -> list[Turn]:
    """Make everyday talk.

    Args:
        count: How many turns.
        after: How many were made before.

    Returns:
        Turns, with ids of their own.
    """
    turns = corpus.plain_turns(count, common.SEED, after)
    return [replace(turn, origin=f"t{after + n}") for n, turn in enumerate(turns)]


def embedded(turns: Sequence[Turn], embedder: Embedder) -> list[Item]:
    """Give turns their vectors.

    Args:
        turns: The turns.
        embedder: Makes the vectors.

    Returns:
        Items, in order.
    """
    vectors = embedder.encode([indexed_text(chunk(turn)) for turn in turns]).vectors
    return [Item(turn, vector) for turn, vector in zip(turns, vectors, strict=True)]
