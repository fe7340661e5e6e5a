"""Memories, and the catalogue of them."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from slowcat_memory.core.catalogue import Catalogue
from slowcat_memory.core.memory import chunk, holds, indexed_text
from slowcat_memory.core.text.normalize import Tokenizer
from slowcat_memory.core.time.expressions import Interval
from slowcat_memory.records import Memory
from tests.support import said
from tests.support.said import NOON, memory, turn

# ------------------------------------------------------------------- memory


def test_chunk_it_is_indexed_with_its_speaker_and_its_context() -> None:
    made = chunk(turn("My dog is called Max."))
    assert indexed_text(made) == "Anna: My dog is called Max."
    about = replace(made, context="About pets.")
    assert indexed_text(about) == f"About pets.\n{indexed_text(made)}"


# ------------------------------------------------------------------- validity

NOW, YEAR = NOON, timedelta(days=365)
ROME = memory("note", "Anna lives in Rome.", valid_from=NOW - 3 * YEAR, valid_to=NOW - YEAR)


def test_holds_what_was_superseded_is_never_offered() -> None:
    gone = replace(ROME, valid_to=None, retired_at=NOW)
    asked = (Interval(start=NOW - 2 * YEAR, end=NOW, words="then"),)
    assert not holds(gone, NOW) and not holds(gone, NOW, asked)
    assert holds(replace(ROME, valid_to=None), NOW)
    assert holds(replace(ROME, valid_to=NOW + YEAR), NOW)


# ------------------------------------------------------------------- the catalogue holds no words, and chooses what a search through all memories wou

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def fact(id: str, text: str, day: int, **more) -> Memory:
    given = {"id": f"fact/{id}", "valid_from": MONDAY + timedelta(days=day), "sources": (day,)}
    return said.fact(text, "other", subject="Anna", **given, **more)


def made(*memories: Memory) -> Catalogue:
    catalogue = Catalogue(Tokenizer("english"))
    for one in memories:
        catalogue.put(one)
    return catalogue


def ids(rows) -> list[str]:
    return [row.id.partition("/")[2] for row in rows]


def test_catalogue_has_what_was_put_last() -> None:
    catalogue = made(fact("b", "A green door.", 2), fact("a", "A red door.", 1))
    assert ids(catalogue.in_order()) == ["a", "b"]
    catalogue.put(fact("a", "A blue door.", 3, pinned=True))
    catalogue.drop("fact/gone")
    assert ids(catalogue.in_order()) == ["b", "a"]
    assert ids(catalogue.having("red")) == []
    assert ids(catalogue.having("blue", "/pinned")) == ["a"]
    assert ids(catalogue.having(("about", "anna"), ("turn", "chunk/2"))) == ["b", "a"]
    assert catalogue.common(("door", "blue")) == {"fact/a": 2, "fact/b": 1}


def test_catalogue_ranks_by_words_and_turns_and_then_the_latest_first() -> None:
    catalogue = made(
        fact("old", "A door.", 1), fact("new", "A door.", 4), fact("said", "A lamp.", 2),
        fact("both", "A green door.", 3),
    )  # fmt: skip
    found = list(catalogue.ranked(["fact"], {"door": 0.3, "green": 0.2}, {"chunk/2": 0.4}))
    assert ids(row for row, _, _ in found) == ["both", "said", "new", "old"]
    assert [(own, behind) for _, own, behind in found[:2]] == [(0.5, 0.0), (0.0, 0.4)]
    assert list(catalogue.ranked(["note"], {"door": 1.0}, {})) == []
