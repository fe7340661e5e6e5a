"""What an LLM, and a session, is told of a user: what holds now, each once, the important first."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.blocks.lasting import by_importance, chosen, human, plain
from slowcat_memory.core.blocks.statements import coming_lines
from slowcat_memory.core.language import language_of
from slowcat_memory.records import Made, Memory
from tests.support import said
from tests.support.rows import cases, listed

NOW = datetime(2026, 11, 18, 18, tzinfo=UTC)
DAY = timedelta(days=1)


def fact(text: str, kind: str = "person", days: float = 1, **more: Any) -> Memory:
    at = NOW - days * DAY
    return said.fact(text, kind, valid_from=at, recorded_at=at, subject="Anna", **more)


def told(*memories: Memory) -> list[str]:
    return [one.text for one in human(memories, NOW)]


def test_sixty_statements_are_cut_to_the_important_and_the_newest() -> None:
    old = [fact(f"Anna saw film number {n}.", "other", days=100 - n) for n in range(60)]
    allergic = {"predicate": "allergic_to", "object": "latex"}
    allergy = fact("Anna is allergic to latex.", "health", 99, **allergic)
    works = {"predicate": "works_at", "object": "Northlight"}
    job = fact("Anna works at Northlight.", "work", **works)
    shown = [one.text for one in chosen(human([*old, allergy, job], NOW), 10)]
    assert allergy.text in shown and job.text in shown and len(shown) == 10
    assert "Anna saw film number 59." in shown and "Anna saw film number 1." not in shown


def test_the_important_comes_first_in_the_block() -> None:
    tea = fact("Anna likes tea.", "preference", predicate="likes", object="tea")
    home = fact("Anna lives in Leipzig.", days=90, predicate="lives_in", object="Leipzig")
    shown = by_importance(human([tea, home], NOW))
    assert [one.text for one in shown] == [home.text, tea.text]


def test_by_rules_only_what_is_seldom_misread_is_stated() -> None:
    right, wrong = (
        [fact(text, kind, **own) for text, kind, own in listed("rules/lasting_facts.jsonl", part)]
        for part in ("right", "wrong")
    )
    ruled = [replace(one, made=Made(job="facts", version=1)) for one in (*right, *wrong)]
    lines = [one.text for one in plain(human(ruled, NOW), ruled)]
    assert sorted(lines) == sorted(one.text for one in right)


def coming(*memories: Memory, language: str = "english", most: int = 9) -> list[str]:
    return [one.text for one in coming_lines(memories, NOW, UTC, most, language_of(language))]


def test_the_next_two_weeks_come_by_their_days_then_what_is_open() -> None:
    move = fact("Anna moves to Oranmore.", "plan", date="2026-11-28")
    bloods = fact("Pixel has his bloods done on 20 November 2026.", "event", date="2026-11-20")
    start = fact("Anna starts the new job.", "work", date="2027-01-11")
    waits = fact("Anna waits for an answer.", "open_thread", days=14)
    assert coming(start, move, waits, bloods) == [
        "- Pixel has his bloods done on 20 November 2026",
        "- Anna moves to Oranmore (28 November 2026)",
        "- Anna waits for an answer (4 November 2026)",
    ]
    assert coming(move, language="german") == ["- Anna moves to Oranmore (28. November 2026)"]
    first = coming(start, move, waits, bloods, most=1)
    assert first == ["- Pixel has his bloods done on 20 November 2026"]


@cases("rules/lasting")
def test_a_day_stands_in_place_of_words_that_mean_another_one_later(language, text, line):
    times = {"date": "2026-11-20", "made": Made(job="facts", version=1)}
    memory = replace(fact(text, "event", **times), valid_from=datetime(2026, 11, 19, 9, tzinfo=UTC))
    assert coming(memory, language=language) == [f"- {line}"] * bool(line)


def test_a_day_that_ends_and_one_that_has_not_begun_are_coming() -> None:
    dentist = fact("Anna sees the dentist on 20 November.", "event", date="2026-11-20")
    dentist = replace(dentist, valid_to=NOW + 3 * DAY)
    move = fact("Anna moves on 28 November.", "plan", date="2026-11-28")
    move = replace(move, valid_from=NOW + 10 * DAY)
    assert coming(move, dentist) == [f"- {dentist.text[:-1]}", f"- {move.text[:-1]}"]
    assert told(move) == [], "it does not hold yet"


def test_what_is_over_called_off_or_long_past_is_not_coming() -> None:
    off = fact("Anna's trip is off.", "event", date="2026-11-20", over=True)
    past = fact("Anna had a race.", "event", date="2026-11-11")
    yesterday = fact("Anna sees the dentist.", "event", date="2026-11-17")
    scam = fact("Anna confirms her card.", "open_thread", reported=True)
    done = fact("Anna rang Two Blokes.", "task_completed", date="2026-11-20")
    broken = fact("Anna sings.", "event", date="2026-13-45")
    left = coming(off, past, scam, done, broken, yesterday)
    assert left == ["- Anna sees the dentist (17 November 2026)"]
