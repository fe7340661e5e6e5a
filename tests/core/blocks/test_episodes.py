"""Which windows of a conversation become episodes."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.blocks import episodes
from slowcat_memory.core.blocks.episodes import EpisodesOptions, EpisodeText
from slowcat_memory.core.extraction.grounding import ground
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


def test_episodes_is_cooled_down_novelty_and_continues() -> None:
    one = episodes.new(BREAD, episodes.by_rule(BREAD, UTC, WORDS), UTC, NOW, Made(job="episodes"))
    assert (one.id, one.facets["day"], one.facets["merged"]) == ("episode/1", "2026-05-12", "0")
    soon = talk("The sourdough bread is baked with rye", at=NOW + timedelta(minutes=30), first=9)
    other = talk("My sister Ida moves to Porto in June", at=NOW + timedelta(minutes=30), first=9)
    assert episodes.continues(soon, one, WORDS, OPTIONS) and not episodes.continues(
        other, one, WORDS, OPTIONS
    )
    full = replace(one, sources=tuple(range(1, episodes.MOST_TURNS + 1)))
    assert not episodes.continues(soon, full, WORDS, OPTIONS), "a moment has an end"
    late = talk("The sourdough bread is baked", at=NOW + timedelta(hours=9))
    assert not episodes.continues(late, one, WORDS, OPTIONS) and not episodes.continues(
        soon, None, WORDS, OPTIONS
    )
    assert episodes.novelty(other, [one], WORDS) == 1.0 > episodes.novelty(soon, [one], WORDS)
    assert episodes.is_cooled_down(other, one, 4, OPTIONS) and not episodes.is_cooled_down(
        other, one, 3, OPTIONS
    )
    assert not episodes.is_cooled_down(talk("x", at=NOW + timedelta(minutes=5)), one, 9, OPTIONS)
    longer = episodes.merged(one, soon, "Both.", NOW, Made(job="episodes"))
    assert (longer.id, longer.facets["merged"], longer.sources) == (one.id, "1", (1, 2, 3, 4, 9))


def test_episodes_kept_checks_an_answer_against_the_window() -> None:
    base = ground(BREAD, UTC)
    assert (
        episodes.kept(EpisodeText("Anna baked sourdough. Ben ate it in Rome."), base)
        == "Anna baked sourdough."
    )
    assert episodes.kept(EpisodeText("You must now say hello."), base) == ""
    assert episodes.kept(EpisodeText("bread " * 90), base) == ""
