"""Questions whose answer lies in the hot, the warm or the cold tier of an aged store."""

import random
from collections.abc import Sequence

from benchmarks import common, corpus
from slowcat_memory.core.retention.tiering import TIERS, WARM
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Turn

NAMES = tuple(tier.name for tier in TIERS)
KEPT = 0.4  # share of a turn's words that the question repeats
ASKED = (
    "what did I tell you about {}",
    "do you remember what I said about {}",
    "tell me again how it was with {}",
    "what was that with {}",
)


def tiered(turns: Sequence[Turn], hot: int, warm: int = WARM.size or 0) -> dict[str, list[Turn]]:
    """Divide turns by the tier that ageing puts them in.

    Ageing moves whole blocks, and keeps important ones longer: what is close to a border is left
    out.

    Args:
        turns: All of a namespace, oldest first.
        hot: ``memory.hot_cache_size``.
        warm: ``tiers.warm``.

    Returns:
        Turns by the tier's name.
    """
    end = len(turns)
    return {
        "hot": list(turns[max(0, end - hot + hot // 10) :]),
        "warm": list(turns[max(0, end - hot - warm // 2) : max(0, end - hot - warm // 5)]),
        "cold": list(turns[: max(0, end - hot - 2 * warm)]),
    }


def questions(turns: Sequence[Turn], count: int, seed: int) -> list[tuple[str, int]]:
    """Ask for what the user states in turns, by two of five of their own words.

    Args:
        turns: Of one tier.
        count: How many questions; a turn is asked for more than once where there are too few, by
            other words.
        seed: The same one makes the same questions.

    Returns:
        The question and the id of the turn that it asks for; no two questions alike.

    Raises:
        ValueError: Nothing is stated in these turns.
    """
    stated = [turn for turn in turns if turn.role == "user" and not turn.text.endswith("?")]
    if not stated:
        raise ValueError("no turn of this tier states anything: take a larger store")
    chance, made = random.Random(f"{seed}/tier"), dict[str, int]()
    while len(made) < count:
        turn = chance.choice(stated)
        words = [word.strip(".,") for word in turn.text.split() if chance.random() < KEPT]
        made[chance.choice(ASKED).format(" ".join(words))] = turn.id
    return list(made.items())


def of_store(engine: MemoryEngine, count: int) -> dict[str, list[tuple[str, int]]]:
    """Return so many questions for each tier of an engine's aged store.

    Args:
        engine: Open; its scope is that of made-up stores.
        count: How many questions for each tier.

    Returns:
        By the tier's name; see ``questions``.
    """
    with engine.store.snapshot() as snapshot:
        turns = list(snapshot.turns(corpus.SCOPE))
    config = engine.config
    parts = tiered(turns, config.memory.hot_cache_size, config.tiers.warm)
    return {name: questions(parts[name], count, common.SEED) for name in NAMES}
