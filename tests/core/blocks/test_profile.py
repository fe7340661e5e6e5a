"""The profile: fields by rule and by proposal, each with where it comes from."""

from datetime import UTC, datetime, timedelta
from typing import Any

from slowcat_memory.core.blocks.lasting import profile_line, profile_of
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
    fields = profile_of(known, "anna")
    assert profile_line(fields) == "lives in Porto; speaks German, Portuguese"
    assert profile_line(profile_of(reversed(known), "anna")) == profile_line(fields), "byte-stable"
    assert (fields["city"].value, fields["city"].of) == ("Porto", ("fact/3",))
    assert (fields["language"].sources, fields["language"].of) == ((4, 5), ("fact/4", "fact/5"))
