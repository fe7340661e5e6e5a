"""Faults of a fleet: its workers, its database and what is between them, broken in many ways.

Each kind of fault runs with a PostgreSQL of its own and workers in processes of their own. Whatever
is said has a word of its own, so that it can be looked for everywhere. The laws (``fleet_laws``):

- each turn that was acknowledged is once in its person's memory, as a worker with an empty cache
  reads it; no turn is there twice, and none in another person's memory;
- the log of a person has no gaps, each change set was sent once, and epochs never decrease;
- a copy that is brought up to date equals a new one, row by row;
- what was forgotten is in no row and in no worker's cache.

    python -m tests.harness.fleet_faults --what kills --count 500
    python -m tests.harness.fleet_faults --what races --count 1000
    python -m tests.harness.fleet_faults --what all          # each kind, a few times
    python -m tests.harness.fleet_faults --what controls     # planted faults: each must be found
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from loguru import logger

from tests.harness import fleet_kills, fleet_scenes
from tests.harness.fleet_kills import Found
from tests.harness.fleet_plants import PLANTS
from tests.harness.fleet_server import Server
from tests.harness.puppets import kill_all, warm_up

Scene = Callable[..., Found]
SCENES: dict[str, tuple[Scene, int]] = {  # with how often, unless it is said
    "kills": (fleet_kills.kills, 20),
    "races": (fleet_kills.races, 20),
    "stalls": (fleet_scenes.stalls, 3),
    "clock": (fleet_scenes.clock, 3),
    "mid-turn": (fleet_scenes.mid_turn, 3),
    "away": (fleet_scenes.away, 2),
    "full": (fleet_scenes.full, 2),
    "cut": (fleet_scenes.cut, 40),
    "forget": (fleet_scenes.forget, 12),
}
CONTROLS = {  # which scene must find a planted fault, and how often it has the chance
    "no epoch": ("stalls", 1),
    "early": ("away", 1),
    "renumbered": ("cut", 30),
    "no snapshot": ("forget", 1),
}


def run(what: str, count: int, seed: int = 1, plant: str = "", keep: Path | None = None) -> Found:
    """Run one kind of fault with a new server."""
    scene = SCENES[what][0]
    with tempfile.TemporaryDirectory(prefix="fleet-", dir=keep) as made:
        Path(made).chmod(0o755)  # the server is another user's
        warm_up()
        server = Server(Path(made, "postgres"))
        try:
            return scene(server, Path(made), count, seed, plant)
        finally:
            kill_all()
            server.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=(*SCENES, "all", "controls"), default="all")
    parser.add_argument("--count", type=int, default=0, help="how often; 0 for a few times")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=PLANTS, default="", help="a fault that must be found")
    given = parser.parse_args()
    logger.remove()
    warnings.simplefilter("ignore")
    if given.what == "controls":
        return max(_report(what, count, given.seed, plant)
                   for plant, (what, count) in CONTROLS.items())  # fmt: skip
    chosen = SCENES if given.what == "all" else (given.what,)
    return max(_report(what, given.count, given.seed, given.plant) for what in chosen)


def _report(what: str, count: int, seed: int, plant: str) -> int:
    began, count = time.monotonic(), count or SCENES[what][1]
    found = run(what, count, seed, plant)
    figures = ", ".join(f"{n} {name}" for name, n in sorted(found.figures.items()))
    verdict = f"{len(found.wrong)} laws broken" if found.wrong else "every law holds"
    planted = f" with the fault {plant!r} planted" if plant else ""
    print(f"{what} {count}{planted}: {verdict}; {time.monotonic() - began:.0f} s; {figures}")
    for line in found.wrong[:20]:
        print(f"  {line}")
    sys.stdout.flush()
    return int(bool(found.wrong) != bool(plant))


if __name__ == "__main__":
    sys.exit(main())
