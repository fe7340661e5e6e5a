"""Made-up everyday talk, as much as is wanted: the same seed says the same words.

Sentences are as long as spoken ones (12 to 23 words) and their words as unevenly spread: a few
names and verbs everywhere, many nouns seldom. They are in ``data/corpus.toml``.
"""

import random
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slowcat_memory.records import SessionEdge, Turn

SCOPE = "anna"
START = datetime(2024, 1, 8, 18, tzinfo=UTC)
NOW = START.replace(year=START.year + 4)  # when questions are asked
SESSION_TURNS = 20

TALK = tomllib.loads((Path(__file__).parent / "data" / "corpus.toml").read_text("utf-8"))


def turns(
    count: int, seed: int, after: int = 0, scope: str = SCOPE
) -> Iterator[tuple[str, list[Turn | SessionEdge]]]:
    """Make sessions of talk between a person and an agent.

    Args:
        count: How many turns.
        seed: The same one makes the same turns.
        after: How many turns were made before; later sessions come later.
        scope: Whose memory holds them.

    Yields:
        Session id and its events, in order.
    """
    chance = random.Random(f"{seed}/{after}")
    for first in range(after, after + count, SESSION_TURNS):
        id_, at = f"{scope}{first:07d}", START + timedelta(hours=2 * first)
        ids = range(first, min(first + SESSION_TURNS, after + count))
        said = [_turn(chance, scope, id_, n, at + timedelta(seconds=12 * (n - first))) for n in ids]
        start = SessionEdge(session=id_, scope=scope, kind="start", at=at)
        end = SessionEdge(session=id_, scope=scope, kind="end", at=said[-1].at, reason="silence")
        yield id_, [start, *said, end]


def plain_turns(count: int, seed: int, after: int = 0) -> list[Turn]:
    """Make such talk without its sessions; see ``turns``."""
    sessions = turns(count, seed, after)
    return [event for _, events in sessions for event in events if isinstance(event, Turn)]


def questions(count: int, seed: int) -> list[str]:
    """Make questions about such talk, no two alike.

    Args:
        count: How many.
        seed: The same one makes the same questions.

    Returns:
        Texts as a recogniser yields them, without capitals at the start or a question mark.
    """
    chance, made = random.Random(f"{seed}/questions"), dict[str, None]()
    while len(made) < count:
        made[_fill(chance, "asked")] = None
    return list(made)


def _turn(chance: random.Random, scope: str, session: str, number: int, at: datetime) -> Turn:
    agent = number % 2 == 1
    return Turn(
        session=session,
        scope=scope,
        speaker="Assistant" if agent else "Anna",
        role="assistant" if agent else "user",
        text=_fill(chance, "replied" if agent else "said"),
        at=at,
    )


def _fill(chance: random.Random, kind: str) -> str:
    """Fill a template; words early in a list come up more often than late ones."""
    words = {
        key: choices[int(len(choices) * chance.random() ** 1.5)]
        for key, choices in TALK["words"].items()
    }
    text = str(chance.choice(TALK[kind]).format(**words))
    return text[0].upper() + text[1:] if kind != "asked" else text
