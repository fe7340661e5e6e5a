"""The profile: fields by rule and by proposal, each with where it comes from."""

from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.core.blocks.profile import Proposals, Proposed, by_rule, facets, line, proposed
from slowcat_memory.core.blocks.statements import SourcedLine, ground_of
from slowcat_memory.core.language import language_of
from slowcat_memory.records import Memory, Statement

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)


def fact(n: int, predicate: str, object_: str, subject: str = "Anna", **more: Any) -> Memory:
    return Memory(
        id=f"fact/{n}", kind="fact/person", scope="anna", speaker="Anna", text=f"{object_} {n}",
        valid_from=NOW + timedelta(days=n), sources=(n,),
        statement=Statement(subject=subject, predicate=predicate, object=object_), **more,
    )  # fmt: skip


def test_by_rule_keeps_the_later_value_of_the_user() -> None:
    known = [
        fact(1, "lives_in", "Lisbon"), fact(3, "lives_in", "Porto"), fact(2, "lives_in", "Rome", "Ben"),
        fact(4, "speaks", "German"), fact(5, "language", "Portuguese"), fact(6, "eats", "cake"),
        fact(7, "wants_to", "x" * 99), fact(8, "name", "Annie", retired_at=NOW),
    ]  # fmt: skip
    fields = by_rule(known, "anna")
    assert line(fields) == "lives in Porto; speaks German, Portuguese"
    assert line(by_rule(reversed(known), "anna")) == line(fields), "byte-stable"
    kept = facets(fields)
    assert (kept["city"], kept["city.from"]) == ("Porto", "fact/3")
    assert (
        kept["city.since"] == "2026-05-15T12:00:00+00:00"
        and kept["language.from"] == "fact/4 fact/5"
    )
    assert fields["language"].sources == (4, 5)


def test_proposed_needs_evidence() -> None:
    said = [
        SourcedLine(text="Anna wants to run a marathon.", at=NOW, sources=(1,), of="fact/1"),
        SourcedLine(text="Anna lives in Porto.", at=NOW, sources=(2,), of="fact/2"),
    ]
    known = by_rule([fact(3, "lives_in", "Porto")], "Anna")
    answer = Proposals(
        fields=[
            Proposed("goals", "run a marathon", 1),
            Proposed("work", "runner", 1),
            Proposed("city", "marathon", 1),
            Proposed("name", "Anna", 7),
            Proposed("shoe size", "marathon", 1),
            Proposed("tone", "lives in Porto", 1),
        ]
    )
    fields = proposed(answer, said, ground_of(said, ("Anna",), UTC), known)
    assert line(fields) == "lives in Porto; wants: run a marathon"
    assert fields["goals"].of == ("fact/1",) and fields["goals"].sources == (1,)


def test_line_in_german() -> None:
    fields = by_rule([fact(1, "lives_in", "Bonn"), fact(2, "works_as", "Köchin")], "Anna")
    assert line(fields, language_of("german")) == "wohnt in Bonn; arbeitet als Köchin"
