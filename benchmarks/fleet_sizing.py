"""What a database for so many people needs, from what one turn and one person cost in a simulation.

Arithmetic alone: it reads a result of ``benchmarks.fleet_simulation``, and prints the table of
docs/fleet-sizing.md. What nobody measures is an option: who talks when, how many memories people
have, and what share of a core may be busy.

    python -m benchmarks.fleet_sizing benchmarks/results/fleet_simulation.json --people 1000000
"""

import argparse
import math
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks import common
from benchmarks.fleet.people import SIGMA
from slowcat_memory.fleet.database import MOST_CONNECTIONS
from slowcat_memory.fleet.shipper import SNAPSHOT_AFTER

TURNS_A_MINUTE = 6
ROW_BYTES = 170  # of a row of the log beside its body: header, key, index, free space


class Talk(Struct, frozen=True, kw_only=True):
    """What is assumed of people.

    Attributes:
        talking: Share of them who talk at once at the busiest hour.
        hours: As many hours of that a day as the whole day has turns.
        minutes: Of a conversation.
        memories: Median of a person.
        elsewhere: Share of conversations on a worker without a copy.
        busy: Share of a core that may be busy at the busiest hour.
        per_worker: Conversations of one worker at once.
    """

    people: int
    talking: float = 0.02
    hours: float = 6.0
    minutes: float = 4.0
    memories: int = 1000
    elsewhere: float = 0.5
    busy: float = 0.5
    per_worker: int = 4


def sizes(written: dict[str, Any], talk: Talk) -> dict[str, float]:
    """Return what a database needs.

    Args:
        written: A result of the simulation; of its steps the first counts, which is not hurried.
    """
    step, turn = next(iter(written["steps"].values())), written["recorded"]
    base = step["database"]
    talking = talk.people * talk.talking
    turns_s = talking * TURNS_A_MINUTE / 60.0
    turns_day = turns_s * 3600 * talk.hours
    mean = talk.memories * math.exp(SIGMA**2 / 2)
    snapshot = mean * written["seeded"]["snapshot_bytes_per_memory"]
    kept_sets = 1.5 * SNAPSHOT_AFTER  # from one snapshot's end to two of them
    log = kept_sets * (turn["bytes"] / turn["sets"] + ROW_BYTES)
    snapshots_day = turns_day * turn["sets"] / SNAPSHOT_AFTER
    workers = math.ceil(talking / talk.per_worker)
    return {
        "talking": talking,
        "turns_s": turns_s,
        "appends_s": turns_s * turn["statements"],
        "cores": turns_s * base["cpu_ms_per_turn"] / 1e3 / talk.busy,
        "log_gb": talk.people * log / 1e9,
        "snapshot_gb": talk.people * snapshot / 1e9,
        "wal_gb_day": turns_day * base["wal_per_turn"] / 1e9,
        "snapshot_wal_gb_day": snapshots_day * snapshot / 1e9,
        "hydrated_mb_s": talking / talk.minutes / 60.0 * talk.elsewhere * snapshot / 1e6,
        "workers": workers,
        "connections": workers * (MOST_CONNECTIONS + 1),
        "owner_mb": talk.people * 250 / 1e6,
    }


ROWS = (
    ("talking", "people who talk at once"),
    ("turns_s", "turns a second"),
    ("appends_s", "appends a second"),
    ("cores", "cores of the database"),
    ("log_gb", "log, GB"),
    ("snapshot_gb", "snapshots, GB"),
    ("owner_mb", "`owner`, MB: must be in memory"),
    ("wal_gb_day", "WAL of turns and idle work, GB a day"),
    ("snapshot_wal_gb_day", "WAL of snapshots, GB a day"),
    ("hydrated_mb_s", "read to make copies, MB a second"),
    ("workers", "workers"),
    ("connections", "their connections without a pooler"),
)


def main() -> None:
    given = _arguments()
    written = common.read_json(given.result)
    columns = [
        sizes(written, Talk(people=people, memories=given.memories, talking=given.talking))
        for people in given.people
    ]
    print(f"| | {' | '.join(f'{people:,} people' for people in given.people)} |")
    print(f"| --- |{' --- |' * len(columns)}")
    for name, label in ROWS:
        print(f"| {label} | {' | '.join(_short(column[name]) for column in columns)} |")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("result", type=Path, help="JSON of benchmarks.fleet_simulation")
    parser.add_argument("--people", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--memories", type=int, default=1000, help="median of a person")
    parser.add_argument("--talking", type=float, default=0.02, help="share who talk at once")
    return parser.parse_args()


if __name__ == "__main__":
    main()
