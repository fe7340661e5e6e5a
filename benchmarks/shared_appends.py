"""How long until a turn is on disk, alone and while three other processes talk into the same store?

Each process says a turn every tenth of a second and waits until it is durable; four of them open one
store, as four bots on a machine do, and each writes by itself.

    python -m benchmarks.shared_appends --turns 300

The JSON: ``alone`` and ``together`` (all four): n, p50, p95, p99, max, in ms; ``append_ratio``: p99
together over p99 alone.
"""

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import common
from benchmarks.common import percentiles
from benchmarks.tables import titled
from slowcat_memory.engine.background import BackgroundEngine
from slowcat_memory.records import SessionEdge, Turn

PACE_S, OTHERS, WAIT_S = 0.1, 3, 60.0


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=300, help="of each process")
    parser.add_argument("--talk", type=Path, metavar="STORE", help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.talk:
        print(json.dumps(talk(options.talk, options.name, options.turns)))
        return
    alone, together = measure(1, options.turns), measure(1 + OTHERS, options.turns)
    ratio = round(together["p99"] / alone["p99"], 2)
    columns = ("", "n", "p50", "p95", "p99", "max")
    rows = [
        (name, *(ms[column] for column in columns[1:]))
        for name, ms in (("alone", alone), ("with three others", together))
    ]
    print(titled(f"a turn on disk, ms; ratio of p99 {ratio}", columns, rows))
    found = {"alone": alone, "together": together, "append_ratio": ratio}
    common.write_json(options.json, found)


def measure(processes: int, turns: int) -> dict[str, float]:
    """Return the percentiles of all processes, in milliseconds."""
    with common.scratch() as folder:
        command = [sys.executable, "-m", "benchmarks.shared_appends", "--turns", str(turns)]
        begun = [
            subprocess.Popen(
                [*command, "--talk", str(folder), "--name", f"bot{number}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for number in range(processes)
        ]
        told = [each.communicate()[0] for each in begun]
        return percentiles([ms for each in told for ms in json.loads(each)])


def talk(folder: Path, name: str, turns: int) -> list[float]:
    """Say turns at the pace of talk; return how long each took to be durable, in milliseconds."""
    memory = BackgroundEngine(common.configuration(folder))
    memory.start(WAIT_S)
    now = datetime.now(UTC)
    memory.append(SessionEdge(session=name, scope=name, kind="start", at=now)).wait(WAIT_S)
    took = []
    for number in range(turns):
        text = f"I planted tree number {number} in the garden today."
        began = time.perf_counter()
        turn = Turn(session=name, scope=name, speaker=name, role="user", text=text, at=now)
        memory.append(turn).wait(WAIT_S)
        took.append((time.perf_counter() - began) * 1e3)
        time.sleep(max(0.0, PACE_S - took[-1] / 1e3))
    memory.close()
    return took


if __name__ == "__main__":
    main()
