"""Faults of a fleet: its workers, its database and what is between them, broken in many ways.

Each kind of fault runs with a PostgreSQL of its own and workers in processes of their own. Whatever
is said has a word of its own, so that it can be looked for everywhere. The laws (``fleet_laws``):

- each turn that was acknowledged, or said by a worker that released the memory in order, is once in
  its person's memory, as a worker with an empty cache reads it, and in no other's;
- the log of a person has no gaps, each change set was sent once, and epochs never decrease;
- a copy that is brought up to date equals a new one, row by row;
- what was forgotten is in no row and in no worker's cache.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.harness import fleet_kills, fleet_scenes
from tests.harness.command import Harness, main
from tests.harness.fleet_kills import Found
from tests.harness.fleet_server import Server
from tests.harness.puppets import kill_all, warm_up


def run(
    scene: Callable[..., Found], folder: Path, count: int, seed: int, control: str
) -> dict[str, Any]:
    """Run one kind of fault with a new server."""
    from slowcat_memory.fleet import fleet_process  # noqa: F401  # children have it already

    warnings.simplefilter("ignore")
    folder.chmod(0o755)  # the server is another user's
    warm_up()
    server = Server(folder / "postgres")
    try:
        found = scene(server, folder, count, seed, control)
    finally:
        kill_all()
        server.close()
    return {"wrong": found.wrong, "steps": count, **found.figures}


def harness(
    scene: Callable[..., Found], count: int, night: int, least: float, **controls: int
) -> Harness:
    """Return the harness of a kind of fault, with the faults that it must catch."""
    planted = {fault.replace("_", "-"): ("wrong", steps) for fault, steps in controls.items()}
    return Harness(
        run=partial(run, scene), count=count, night=night, laws=("wrong",),
        least={"acknowledged": least}, controls=planted,
    )  # fmt: skip


HARNESSES = {
    "kills": harness(fleet_kills.kills, 15, 40, 4.0, unsaved=20),
    "stalls": harness(fleet_scenes.stalls, 3, 6, 8.0, no_fence=1, dropped_late=1),
    "races": harness(fleet_scenes.races, 10, 30, 2.0, no_fence=5),
    "away": harness(fleet_scenes.away, 4, 8, 6.0, early=1),
    "cut": harness(fleet_scenes.cut, 20, 60, 2.0, renumbered=20),
    "forget": harness(fleet_scenes.forget, 6, 12, 4.0, no_snapshot=1),
}

if __name__ == "__main__":
    main(HARNESSES, __doc__)
