"""What idle work by rules does grows with the length of the log, of one session and of many.

Counted are the function calls of the idle thread, and the rows of vectors that facts are compared
with, which a call of NumPy hides. Neither depends on the machine.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from slowcat_memory.core.facts import fact_index
from slowcat_memory.idle.job import Contexts, Job, JobDeps
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.registry import BUILT_IN, UPKEEP
from slowcat_memory.records import Event
from slowcat_memory.store import Store, StoreOptions
from slowcat_memory.testing import FixedClock, HashEmbedder
from tests.support.idle_doubles import drain
from tests.support.rows import listed_texts
from tests.support.sessions import session

BEGAN = datetime(2026, 5, 12, 8, tzinfo=UTC)
SENTENCES, NAMES, PLACES, THINGS, FOODS = (
    listed_texts("idle/long_talk", part)
    for part in ("sentences", "names", "places", "things", "foods")
)


def long_talk(turns: int, per_session: int = 0, seed: int = 1) -> Iterator[Event]:
    """Yield the events of ended sessions; ``per_session`` 0 makes one session of all turns."""
    chance, at = random.Random(seed), BEGAN
    size = per_session or turns
    for first in range(0, turns, size):
        said = [
            (sentence(chance), f"Good to know, tell me more about the {chance.choice(THINGS)}.")
            for _ in range(first, min(first + size, turns), 2)
        ]
        events = session(f"s{first}", said, at, step_s=12)
        yield from events
        at = events[-1].at + timedelta(hours=10)


def sentence(chance: random.Random) -> str:
    """Return something that a user says."""
    return chance.choice(SENTENCES).format(
        name=chance.choice(NAMES),
        thing=chance.choice(THINGS),
        place=chance.choice(PLACES),
        food=chance.choice(FOODS),
        other=chance.choice(FOODS),
        number=chance.randrange(10, 9999),
        word=f"{chance.choice(('Ka', 'Lo', 'Mi', 'Ren', 'Tos'))}{chance.choice(THINGS)}",
    )


JOBS = tuple(job for job in BUILT_IN if job not in UPKEEP)
SMALL, LARGE = 120, 240
MOST_GROWTH = 2.3
OPTIONS = IdleOptions(grace_s=0.0, rest_s=0.01)


def work(
    folder: Path,
    turns: int,
    per_session: int,
    jobs: tuple[Job, ...] = JOBS,
    embedder: HashEmbedder | None = None,
) -> Counter[str]:
    """Do all idle work of a new store; return the function calls by file."""
    calls: Counter[str] = Counter()
    with Store.open(folder, options=StoreOptions(map_size_gib=1 / 16)) as store:
        events = list(long_talk(turns, per_session))
        for ack in store.append_all(events):
            ack.wait()
        clock = FixedClock(events[-1].at + timedelta(days=8))
        deps = JobDeps(store=store, upkeep=None, clock=clock, zone=UTC, scopes=lambda: ["anna"])  # type: ignore[arg-type]
        if embedder:
            deps = replace(deps, embed=embedder.encode, space=lambda: embedder.key)

        def count(frame, event, argument) -> None:
            calls[frame.f_code.co_filename.rpartition("slowcat_memory/")[2]] += 1

        before = sys.gettrace()
        sys.settrace(count)
        try:
            assert drain(Contexts(deps), jobs, clock, OPTIONS) == 0
        finally:
            sys.settrace(before)
    return calls


def grown(small: Counter[str], large: Counter[str]) -> list[tuple[str, int, int]]:
    """Return the files whose calls grew most beyond twice, with both counts."""
    worst = sorted(large, key=lambda name: large[name] - 2 * small[name], reverse=True)[:5]
    return [(name, small[name], large[name]) for name in worst]


@pytest.mark.parametrize("per_session", [0, pytest.param(20, marks=pytest.mark.slow)])
def test_twice_the_turns_take_about_twice_the_calls(tmp_path, per_session) -> None:
    small = work(tmp_path / "small", SMALL, per_session)
    large = work(tmp_path / "large", LARGE, per_session)
    assert large.total() < MOST_GROWTH * small.total(), grown(small, large)


class Embedded(NamedTuple):
    """The calls of a short and a long log with vectors, and the rows that were compared."""

    small: Counter[str]
    large: Counter[str]
    few: int
    many: int


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    rows = list[int]()
    compare = fact_index._Group.cosines

    def counted(group, new, vector):
        found = compare(group, new, vector)
        rows[-1] += len(found)
        return found

    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fact_index._Group, "cosines", counted)
        for turns in (80, 160):
            rows.append(0)
            folder = tmp_path_factory.mktemp("embedded")
            calls.append(work(folder, turns, 0, embedder=HashEmbedder()))
    return Embedded(*calls, *rows)


def test_with_vectors_twice_the_turns_take_about_twice_the_calls(embedded) -> None:
    small, large = embedded.small, embedded.large
    assert embedded.few > 0, "nothing was compared"
    assert large.total() < MOST_GROWTH * small.total(), grown(small, large)


@pytest.mark.xfail(strict=True, reason="a new fact is compared with every vector of its subject")
def test_with_vectors_twice_the_turns_compare_about_twice_the_rows(embedded) -> None:
    assert embedded.many < MOST_GROWTH * embedded.few
