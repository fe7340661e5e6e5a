"""Long conversations in a store, for what must grow with their length and no faster."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from slowcat_memory.records import Event, SessionEdge, Turn

BEGAN = datetime(2026, 5, 12, 8, tzinfo=UTC)
NAMES = ("Max", "Lena", "Otto", "Ida", "Ben", "Mara", "Paul", "Ruth", "Emil", "Nora")
PLACES = ("Lisbon", "Oslo", "Porto", "Turin", "Ghent", "Malmo", "Graz", "Bergen", "Riga", "Cork")
THINGS = ("violin", "bicycle", "garden", "boat", "bakery", "telescope", "kiln", "canoe", "loom")
FOODS = ("pizza", "sushi", "pasta", "curry", "soup", "salad", "rice", "plums", "cheese")
SENTENCES = (
    "My friend {name} sold a {thing} in {place} for {number} crowns",
    "I really love {food} with {other}",
    "I have an interview at {word} on Friday",
    "My sister {name} lives in {place}",
    "I work as a nurse at {word}",
    "okay thanks",
    "Yesterday we visited {name} and talked about the {thing} for hours, it was wonderful",
    "I don't like {food} because it makes me sick {number}",
    "Remind me to call {name} about the {thing} tomorrow",
    "What is the weather in {place}?",
    "I feel anxious about the {thing} exam number {number}",
    "My favourite colour is {word} and I drink {food}",
)


def long_talk(turns: int, per_session: int = 0, seed: int = 1) -> Iterator[Event]:
    """Yield the events of ended sessions; ``per_session`` 0 makes one session of all turns."""
    chance, at = random.Random(seed), BEGAN
    size = per_session or turns
    for session in range(0, turns, size):
        edge = {"session": f"s{session}", "scope": "anna"}
        yield SessionEdge(**edge, kind="start", at=at)  # type: ignore[arg-type]
        for _ in range(session, min(session + size, turns), 2):
            at += timedelta(seconds=20)
            yield _turn(edge, "Anna", "user", sentence(chance), at)
            at += timedelta(seconds=5)
            reply = f"Good to know, tell me more about the {chance.choice(THINGS)}."
            yield _turn(edge, "Assistant", "assistant", reply, at)
        yield SessionEdge(**edge, kind="end", at=at)  # type: ignore[arg-type]
        at += timedelta(hours=10)


def sentence(chance: random.Random) -> str:
    """Return something that a user says."""
    return chance.choice(SENTENCES).format(
        name=chance.choice(NAMES),
        thing=chance.choice(THINGS),
        place=chance.choice(PLACES),
        food=chance.choice(FOODS),
        other=chance.choice(FOODS),
        number=chance.randrange(10, 9999),
        word=f"{chance.choice(('Ka', 'Lo', 'Mi', 'Ren', 'Tos'))}{chance.choice(THINGS)}",
    )


def _turn(edge: dict[str, str], speaker: str, role: str, text: str, at: datetime) -> Turn:
    return Turn(**edge, speaker=speaker, role=role, text=text, at=at)  # type: ignore[arg-type]
