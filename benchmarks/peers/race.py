"""Times peers side by side: every text goes to all of them, in an order that changes, one at a time.

So a minute in which the machine is slow is slow for all, and nobody is always asked first.
"""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks import common
from benchmarks.peers.stores import Item, K, Peer

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
            ms = _ask(peers[name], text, vector, embed)
            if place >= WARM_UP:
                made[name].append(ms)
    return made


def _ask(peer: Peer, text: str, vector: np.ndarray | None, embed: Embed) -> float:
    began = time.perf_counter()
    if vector is None and not peer.embeds:
        vector = embed(text)
    peer.search(text, vector, K)
    return (time.perf_counter() - began) * 1e3
