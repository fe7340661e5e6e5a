"""Versions, owners and history of blocks."""

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from slowcat_memory.core.blocks.block import block, current, history, owner_of, revised, version_of
from slowcat_memory.records import Made, Memory

NOW = datetime(2026, 5, 12, 12, tzinfo=UTC)
MADE = Made(job="blocks")


def human(text: str, made: Made | None = MADE, minutes: int = 0, **more: Any) -> Memory:
    at = NOW + timedelta(minutes=minutes)
    return block("human", text, scope="anna", speaker="Anna", now=at, made=made, **more)


def test_revised_supersedes_and_keeps_the_history() -> None:
    rows: dict[str, Memory] = {}
    for n, text in enumerate(("One.", "Two.", "One.")):
        changed = revised(rows.values(), human(text, minutes=n), owner="agent", limit=100)
        rows |= {one.id: one for one in changed}
    versions = history(rows.values(), "human")
    assert [(version_of(one), one.text) for one in versions] == [
        (1, "One."),
        (2, "Two."),
        (3, "One."),
    ]
    assert [one.retired_at for one in versions] == [
        versions[1].recorded_at,
        versions[2].recorded_at,
        None,
    ]
    assert current(rows.values(), "human") == versions[2] and current([], "human") is None
    assert versions[0].facets == {"owner": "agent", "limit": "100", "version": "1"}


def test_revised_with_the_same_text_only_updates_sources() -> None:
    [first] = revised([], human("One.", sources=(1,)), owner="agent", limit=9)
    again = human("One.", sources=(1,), minutes=5)
    assert revised([first], again, owner="agent", limit=9) == ()
    [same] = revised([first], replace(again, sources=(1, 2)), owner="agent", limit=9)
    assert (same.id, same.recorded_at, same.sources) == (first.id, first.recorded_at, (1, 2))
    [gone] = revised([first], human(""), owner="agent", limit=9)
    assert gone.id == first.id and gone.retired_at


def test_owner_of_a_users_block_is_the_user() -> None:
    [mine] = revised([], human("Mine.", made=None), owner="user", limit=9)
    assert owner_of(mine) == "user" and mine.trust == "user"
    assert owner_of(replace(mine, facets={})) == "user", "put there by an application"
    assert owner_of(human("x")) == "agent"
