"""Which windows of a conversation become episodes."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.blocks import episodes
from slowcat_memory.core.blocks.options import EpisodesOptions
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Made, Turn

NOW = datetime(2026, 5, 12, 23, 30, tzinfo=UTC)
OPTIONS = EpisodesOptions(window=2, words=5)
WORDS = Tokenizer()


def talk(*texts: str, at: datetime = NOW, first: int = 1) -> list[Turn]:
    """Every second text is the agent's."""
    return [
        Turn(session="s", scope="anna", speaker="Mo" if n % 2 else "Anna",
             role="assistant" if n % 2 else "user", text=text, at=at + timedelta(minutes=n), id=first + n)
        for n, text in enumerate(texts)
    ]  # fmt: skip


BREAD = talk(
    "I baked a loaf of sourdough bread today", "Nice.", "It was my first sourdough ever", "Oh!"
)


def test_episodes_windows_begin_with_a_user_turn() -> None:
    turns = [*talk("a", "b", "c", "d", "e", "f"), *talk("g", first=7)]
    assert [[t.text for t in one] for one in episodes.windows(turns[1:], 2, whole=False)] == [
        list("cdef")
    ]
    assert [[t.text for t in one] for one in episodes.windows(turns, 2, whole=True)] == [
        list("abcd"),
        list("efg"),
    ]
    assert episodes.windows([], 2, whole=True) == []


def test_episodes_is_substantial_ignores_small_talk() -> None:
    assert episodes.is_substantial(BREAD, OPTIONS)
    assert not episodes.is_substantial(talk("hello there", "hi", "thank you", "bye"), OPTIONS)


def moment(*texts: str, at: datetime = NOW, first: int = 1) -> episodes.Moment:
    return episodes.moment_of(talk(*texts, at=at, first=first), WORDS)


def test_episodes_the_same_matter_within_hours_is_merged() -> None:
    bread, soon = episodes.moment_of(BREAD, WORDS), NOW + timedelta(minutes=30)
    again = moment("The sourdough loaf I baked today is gone", at=soon, first=9)
    other = moment("My sister Ida moves to Porto in June", at=soon, first=9)
    assert episodes.continues(again, bread, OPTIONS)
    assert not episodes.continues(other, bread, OPTIONS)
    late = moment("The sourdough loaf I baked today is gone", at=NOW + timedelta(hours=9))
    assert not episodes.continues(late, bread, OPTIONS)
    assert not episodes.continues(again, None, OPTIONS)
    full = replace(bread, turns=bread.turns * (episodes.MOST_TURNS // 4))
    assert not episodes.continues(again, full, OPTIONS), "a moment has an end"
    assert episodes.novelty(other, [bread]) == 1.0 > episodes.novelty(again, [bread])


def test_episodes_the_cooldown_counts_within_a_session_or_by_time() -> None:
    bread = episodes.moment_of(BREAD, WORDS)
    soon = moment("My sister Ida moves", at=NOW + timedelta(minutes=5), first=9)
    assert not episodes.is_cooled_down(soon, bread, 3, OPTIONS)
    assert episodes.is_cooled_down(soon, bread, 4, OPTIONS)
    later = moment("My sister Ida moves", at=NOW + timedelta(minutes=30), first=9)
    assert episodes.is_cooled_down(later, bread, 0, OPTIONS)
    next_session = replace(soon, turns=tuple(replace(one, session="t") for one in soon.turns))
    assert episodes.is_cooled_down(next_session, bread, 0, OPTIONS)


def test_episode_has_its_day_and_its_turns() -> None:
    one = episodes.episode(BREAD, "Bread.", 1, UTC, NOW, Made(job="episodes"))
    assert (one.id, one.facets["day"], one.facets["merged"]) == ("episode/1", "2026-05-12", "1")
    assert one.sources == (1, 2, 3, 4)
