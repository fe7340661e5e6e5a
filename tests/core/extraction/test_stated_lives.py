"""What people say of their lives, in many wordings, and the fact that is read from each."""

from datetime import UTC, datetime

import pytest

from slowcat_memory.core.extraction.attributed import wrong_subject
from slowcat_memory.core.extraction.evidence import dated
from slowcat_memory.core.extraction.grounding import ground
from slowcat_memory.core.extraction.quoted import contradicts, unrelated
from slowcat_memory.core.extraction.slots import PREFERRED, canonical, ends
from slowcat_memory.core.extraction.stated import stated, stated_by
from slowcat_memory.core.facts.by_rule import facts_by_rule
from slowcat_memory.core.time.expressions import statement_times
from slowcat_memory.errors import ConfigError
from slowcat_memory.records import Statement, Turn
from tests.support.rows import DATA, cases, each_listed, each_row, listed
from tests.support.said import said_by_anna, turn


def rows(name: str) -> list[list[str]]:
    """Return facts, with what Anna says."""
    text = (DATA / f"stated/{name}.txt").read_text("utf-8")
    return [line.split("|") for line in text.strip().splitlines()]


HOLDS = rows("holds")


@each_row(("fact", "said"), HOLDS + rows("days"))
def test_stated_facts_are_sentences_as_people_would_say_them(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and not found[0].over and found[0].quote in said


@each_row(("fact", "said"), rows("over"))
def test_stated_what_is_over_is_said_and_ends_what_was_so(fact: str, said: str) -> None:
    found = [one for one in stated_by(said_by_anna(said)) if one.content == fact]
    assert found and found[0].over and found[0].ends


@each_row("said", [said for (said,) in rows("nothing")])
def test_stated_nothing_from_what_is_no_fact(said: str) -> None:
    assert [one.content for one in stated_by(said_by_anna(said))] == []


@each_row(("fact", "said"), [row for row in HOLDS if "'" in row[1]])
def test_stated_a_typographic_apostrophe_changes_nothing(fact: str, said: str) -> None:
    straight = stated_by(said_by_anna(said))
    curly = stated_by(said_by_anna(said.replace("'", "’")))
    assert [one.content for one in curly] == [one.content for one in straight]
    assert all(one.quote in said.replace("'", "’") for one in curly)


@cases("rules/stated_lives.jsonl")
def test_stated_objects_end_where_they_end(said: str, objects: list[str]) -> None:
    assert [one.object for one in stated_by(said_by_anna(said))] == objects


def test_stated_of_an_unknown_language_or_an_odd_text() -> None:
    with pytest.raises(ConfigError, match="french"):
        stated("J'habite à Lyon.", "Anna", "french")
    for odd in ("", "I live in " * 3000, "My name is \ud800", "I am " + "9" * 500, "\0"):
        stated(odd, "Anna")


@each_listed("rules/stated_lives.jsonl")
def test_a_day_without_its_month_is_the_next_one(said: str, day: int) -> None:
    at = said_by_anna(said).at
    assert [one.start.day for one in statement_times(said, at, UTC)] == [day]


# ------------------------------------------------------------------- what is over, or has taken the place of another


def of_ida(text: str) -> Turn:
    return turn(text, scope="ida", speaker="Ida", at=datetime(2026, 4, 19, 10, tzinfo=UTC))


@each_listed("rules/stated_ends")
def test_what_is_over_ends(text, predicate, object_):
    old, read = (
        Statement(subject="Ida", predicate=predicate, object=object_),
        stated_by(of_ida(text)),
    )
    assert any(ends(end, old) for one in read for end in one.ends if end.subject == "Ida")


@each_listed("rules/stated_ends")
def test_a_counted_week_names_its_day(text, day, last):
    when = dated(text, of_ida(text), "", ground((of_ida(text),), UTC), UTC)
    assert (when.day, when.last) == (day, last)


@pytest.mark.parametrize(
    "text", ["I'm moving to Oslo the day after tomorrow.", "Ich ziehe am Freitag nach Oslo."]
)
def test_a_move_that_lies_ahead_is_a_home_from_its_day(text: str) -> None:
    [home] = [one for one in facts_by_rule(of_ida(text), UTC) if one.predicate == "lives_in"]
    assert home.object == "Oslo" and home.since > of_ida(text).at


# ------------------------------------------------------------------- whether a statement says what its quote says: of whom it does, no contrary, and no other relation

PEOPLE = ("Felix", "Petra", "Lotte", "Tom", "Ines", "Juno", "Mr Haddad", "Herr Haddad", "Dr Osei")
RELATED = ("Gareth", "Gerd", "Hana", "Piet", "Tom", "Otto", "Petra", "Jonas", "Ines", "Leo", "Button", "Knopf")  # fmt: skip


def of_another(content: str, said: Turn, quote: str, subject: str) -> bool:
    return bool(wrong_subject(content, subject, quote, said, PEOPLE))


def of_no_relation(triple: str, said: Turn, quote: str) -> bool:
    words = triple.split()
    at = next(n for n, word in enumerate(words) if "_" in word or word in PREFERRED)
    subject, predicate, object_ = " ".join(words[:at]), words[at], " ".join(words[at + 1 :])
    parts = {"subject": subject, "predicate": canonical(predicate), "object": object_}
    return bool(unrelated(Statement(**parts, quote=quote), predicate, said, RELATED))


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize(
    ("rows", "refuses"), [("attributed", of_another), ("related", of_no_relation)]
)
def test_what_a_quote_does_not_say_is_refused_and_the_right_kept(rows, refuses, language, change):
    kept, bad = {True: list[bool](), False: list[bool]()}, list[str]()
    for text, quote, *more, statement in listed(f"rules/{rows}", language):
        right, said = not statement.startswith("!"), turn(change(text), scope="m", speaker="Mira")
        refused = refuses(statement.lstrip("!"), said, change(quote), *more)
        kept[right].append(not refused)
        if refused == right:
            bad.append(f"{quote}: {statement}")
    right, wrong = kept[True], kept[False]
    assert sum(right) >= 0.95 * len(right) and sum(wrong) <= 0.1 * len(wrong), "\n".join(bad)


@each_listed("rules/contradicted")
def test_the_contrary_of_a_quote_is_refused(quote: str, right: str, wrong: str) -> None:
    for said in (quote, quote.lower()):
        assert not contradicts(right, said)
        assert contradicts(wrong, said)


@each_listed("rules/contradicted")
def test_a_negation_of_something_else_denies_nothing(quote: str, content: str) -> None:
    assert not contradicts(content, quote)


@each_listed("rules/contradicted")
def test_a_denial_in_another_clause_denies_nothing(content, quote, wrong):
    assert contradicts(content, quote) is (wrong == "yes")
