"""Which turns stand in one prompt, and which have changed."""

import random
from datetime import UTC

from msgspec.structs import replace

from slowcat_memory.core.extraction.prompt_record import (
    AFTER,
    BEFORE,
    digest,
    groups,
    small_talk,
    windows,
)
from slowcat_memory.records import Turn
from tests.support.rows import each_listed
from tests.support.said import turn

TURNS = [turn(f"word{n}", id=n) for n in range(1, 9)]


def digests(turns: list[Turn]) -> list[str]:
    return [digest(1, turns, place, UTC) for place in range(len(turns))]


def test_digest_changes_with_a_turn_and_its_neighbours_alone():
    changed = [*TURNS]
    changed[4] = replace(changed[4], text="another")
    new = [
        n for n, (a, b) in enumerate(zip(digests(TURNS), digests(changed), strict=True)) if a != b
    ]
    assert new == list(range(4 - AFTER, 4 + BEFORE + 1))


@each_listed("rules/small_talk")
def test_small_talk_is_found(text):
    assert small_talk(text)


@each_listed("rules/small_talk")
def test_small_talk_passes_what_has_content(text):
    assert not small_talk(text)


def test_windows_cover_everything_fit_and_overlap():
    dice = random.Random(7)
    for _ in range(200):
        sizes = [dice.randint(1, 60) for _ in range(dice.randint(1, 60))]
        room, shared = dice.randint(50, 300), dice.randint(0, 8)
        cut = list(windows(sizes, room, shared))
        assert set().union(*cut) == set(range(len(sizes)))
        assert all(len(one) == 1 or sum(sizes[n] for n in one) <= room for one in cut)
        assert all(
            a.start < b.start and a.stop <= b.stop for a, b in zip(cut, cut[1:], strict=False)
        )
        assert all(b.start <= a.stop for a, b in zip(cut, cut[1:], strict=False))


def test_groups_ask_about_every_turn_once_where_most_of_its_neighbours_are():
    dice = random.Random(8)
    for _ in range(200):
        sizes = [dice.randint(1, 60) for _ in range(dice.randint(1, 60))]
        stretches = list(windows(sizes, 200, 4))
        wanted = sorted(dice.sample(range(len(sizes)), dice.randint(0, len(sizes))))
        made = list(groups(wanted, stretches, 5))
        assert sorted(place for _, places in made for place in places) == wanted
        assert all(place in stretch for stretch, places in made for place in places)
        assert all(len(places) <= 5 for _, places in made)
        if len(stretches) == 1:
            assert len(made) == -(-len(wanted) // 5)
