"""One fact or two: bands, guards, numbers, denials."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.facts.merging import (
    Pair,
    compare,
    decide_by_words,
    in_order,
    is_worth_asking,
)
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.records import Memory, Statement
from tests.support.rows import each_row, listed

TOKENIZE = Tokenizer("english")


AT = datetime(2026, 5, 12, 18, tzinfo=UTC)


def claim(content: str, type: str = "person", **facets: str) -> Memory:
    return Memory(
        id="fact/1", kind=f"fact/{type}", scope="anna", speaker="Anna", text=content,
        valid_from=AT, statement=Statement(**facets),
    )  # fmt: skip


@each_row(
    ("new", "old", "cosine", "verdict"),
    [
        ("Max is 4 years old.", "Max is 3 years old.", 0.97, "update"),
        ("Max is four years old.", "Max is 3 years old.", 0.97, "update"),
        ("Mia is 3 years old.", "Max is 3 years old.", 0.95, "other"),
        ("Anna likes tea.", "Anna likes tea.", 1.0, "same"),
        ("Anna loves green tea.", "Anna enjoys green tea.", 0.93, "same"),
        ("Anna does not like tea.", "Anna likes tea.", 0.9, "update"),
        ("Anna drinks tea daily.", "Anna likes tea.", 0.7, "ask"),
        ("Anna works in Oslo.", "Anna likes tea.", 0.2, "other"),
        ("Anna has 2 cats.", "Anna has 3 dogs.", 0.9, "other"),
        ("Anna paid 30 euros.", "Anna likes tea.", 0.9, "other"),
    ],
)
def test_compare_bands_and_what_overrides_them(
    new: str, old: str, cosine: float, verdict: str
) -> None:
    assert compare(Pair(claim(old), claim(new)), cosine, TOKENIZE) == verdict


def test_decide_by_words_without_an_llm() -> None:
    one, other = claim("Anna drinks black tea daily."), claim("Anna drinks black tea.")
    assert compare(Pair(other, one), None, TOKENIZE) in ("ask", "same")
    assert decide_by_words(Pair(one, other), TOKENIZE) == "same", "the fuller one stays"
    assert decide_by_words(Pair(other, one), TOKENIZE) == "fuller", "what it adds is kept"
    assert (
        decide_by_words(Pair(other, claim("Anna no longer drinks black tea.")), TOKENIZE)
        == "update"
    )
    assert decide_by_words(Pair(other, claim("Anna moved to Oslo.")), TOKENIZE) is None


def test_is_worth_asking_is_guarded() -> None:
    def asks(new: Memory, old: Memory, cosine: float, days: float) -> bool:
        old = replace(old, valid_from=AT - timedelta(days=days))
        return is_worth_asking(Pair(old, new), cosine, TOKENIZE)

    new, old = claim("Anna runs marathons."), claim("Anna trains for a marathon.")
    assert asks(new, old, 0.4, 10)
    assert not asks(new, old, 0.2, 10), "too far"
    assert not asks(new, old, 0.4, 200), "too old"
    assert not asks(new, claim("Ben trains for a marathon."), 0.4, 10)
    assert not asks(new, claim("Anna eats cake."), 0.4, 10), "no word shared"
    event = claim("Anna ran a marathon.", "event")
    assert not asks(event, event, 0.9, 1), "not of this type"


@each_row(
    ("one", "other"), listed("rules/merging", "different_things_are_never_one_without_an_llm")
)
@each_row("cosine", [None, 0.7, 0.97])
def test_different_things_are_never_one_without_an_llm(
    one: str, other: str, cosine: float | None
) -> None:
    pair = Pair(claim(one), claim(other))
    assert compare(pair, cosine, TOKENIZE) not in ("same", "update")
    assert decide_by_words(pair, TOKENIZE) is None


def test_the_order_of_two_facts_is_that_of_the_turns_that_say_them() -> None:
    """A turn that only helped to understand an earlier statement makes it no later one."""
    older = replace(claim("Anna starts in May."), id="fact/1", sources=(3, 20, 21))
    newer = replace(claim("Anna starts in June."), id="fact/2", sources=(9,))
    for pair in (in_order(older, newer), in_order(newer, older)):
        assert (pair.older.id, pair.newer.id) == ("fact/1", "fact/2")
