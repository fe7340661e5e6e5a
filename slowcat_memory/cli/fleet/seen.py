"""How ``slowcat-memory fleet status`` shows what it found."""

from pathlib import Path
from typing import TYPE_CHECKING

from slowcat_memory.cli.run.idle import duration
from slowcat_memory.cli.shared.output import count, listed, out, row, size, table, warn

if TYPE_CHECKING:
    from slowcat_memory.fleet.operate.look import Copy, Seen

SHOWN = 20  # rows of a table; --json has all


def print_seen(seen: "Seen", tenant: str) -> None:
    """Print what the database has of a tenant."""
    people = "1 person" if seen.people == 1 else f"{seen.people:,} people"
    lines = [
        f"The tenant {tenant} has {people}: {count(seen.log_rows, 'row')} of log"
        f" ({size(seen.log_bytes)}), {count(seen.snapshot_rows, 'row')} of snapshots"
        f" ({size(seen.snapshot_bytes)}).",
        f"Idle work: {', '.join(f'{n:,} {state}' for state, n in seen.tasks.items())}.",
    ]
    for line in lines:
        out().print(line, markup=False)
    if seen.version < seen.newest:
        warn(
            f"The tables have version {seen.version} of {seen.newest}: run `slowcat-memory fleet init`."
        )
    if seen.late:
        whose = listed(f"{person} ({n})" for person, n in seen.late.items())
        warn(f"Wait for the next conversation or idle work: {whose}.")
    _print_held(seen)
    _print_failed(seen)


def _print_held(seen: "Seen") -> None:
    if not seen.held:
        out().print("Nobody is held.")
        return
    made = table("held", "for", "by*", ">left")
    for one in seen.held[:SHOWN]:
        over = one.left_s <= 0
        left = "run out" if over else duration(one.left_s)
        row(made, one.person, one.purpose, one.holder, left, style="yellow" if over else "")
    out().print(made)
    _print_more(len(seen.held))


def _print_failed(seen: "Seen") -> None:
    if not seen.failed:
        return
    made = table("failed", "job", ">times", "why*", ">again")
    for one in seen.failed[:SHOWN]:
        again = "given up" if one.again_s is None else f"in {duration(one.again_s)}"
        row(made, one.person, one.job, one.attempts, one.error, again, style="yellow")
    out().print(made)
    _print_more(len(seen.failed))


def _print_more(n: int) -> None:
    if n > SHOWN:
        out().print(f"[dim]… and {n - SHOWN:,} more: --json lists them all.[/]")


def print_copies(here: "list[Copy]", cache: Path) -> None:
    """Print how many copies this machine has, and those that have something to send."""
    turns = [one for one in here if one.state == "waiting turns"]
    here = [one for one in here if one not in turns]
    used = sum(one.state == "in use" for one in here)
    line = (
        f"{cache} has {'1 copy' if len(here) == 1 else f'{len(here):,} copies'}, {used:,} in use."
    )
    out().print(line, markup=False, soft_wrap=True)
    waits = [one for one in here if one.unsent or (one.unsent is None and one.state == "closed")]
    broken = [one for one in here if one.state == "unreadable"]
    for one in waits:
        n = "some changes" if one.unsent is None else count(one.unsent, "change")
        warn(f"Unsent: {n} of {one.person}, in {one.folder}. Do not delete it.")
    for one in turns:
        warn(f"Turns that were said while there was no memory: {one.folder}. Do not delete it.")
    for one in broken:
        warn(f"Cannot be read: {one.folder}.")
