"""What every benchmark shares: options, the machine in general terms, results on disk."""

import argparse
import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace
from rich.console import Console

from slowcat_memory.config import Config, load
from slowcat_memory.errors import ProviderError
from slowcat_memory.metrics import percentiles
from slowcat_memory.providers import (
    LLM,
    ThinkingOptions,
    open_llm,
    open_query_embedder,
)
from slowcat_memory.providers.embedding.local import LocalEmbedder

__all__ = ["percentiles"]

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
MEASURED = ("slowcat_memory", "config.toml")
SEED = 20_240_229
console = Console(width=None if sys.stdout.isatty() else 120)
_began = list[tuple[float, float]]()  # the load and the reference before a run


def arguments(description: str | None, parts: Collection[str] = ()) -> argparse.ArgumentParser:
    """Make a parser with the options that every benchmark has.

    Args:
        description: The benchmark's docstring; all of it is shown by ``--help``.
        parts: What ``--only`` chooses from; none for a benchmark without it.

    Returns:
        The parser. The machine's load and speed before the run are noted when it is made.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    if parts:
        parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    _began[:] = [(load_average(), reference_ms())]
    return parser


def machine() -> dict[str, Any]:
    """Describe this machine in general terms: nothing that tells one from another of its kind.

    Returns:
        ``cores``, ``cpu``, ``python``, ``system``.
    """
    return {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "cpu": _cpu_family(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def _cpu_family() -> str:
    """Keep the brand and the line of a processor's name, without its model number."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    words = re.sub(r"\(.*?\)", "", found[1] if found else platform.machine()).split()
    return " ".join(word for word in words if not re.search(r"\d|@|CPU|Processor|-Core", word))


def stamp() -> dict[str, Any]:
    """Name the run that a result comes from.

    Returns:
        ``commit`` (the last one that changed the package or its configuration, with "+" where they
        differ from it; "" outside of a checkout), ``date``, ``machine``, and before and after the
        run ``load`` and ``reference`` (how long a core took to hash a megabyte, in ms).
    """
    loads, references = zip(*_began, (load_average(), reference_ms()), strict=True)
    return {
        "commit": _git("log", "-1", "--format=%h", "--abbrev=8", "--", *MEASURED)
        + ("+" if _git("status", "--porcelain", "--", *MEASURED) else ""),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load": loads,
        "reference": references,
    }


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(
            ("git", *arguments), cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def load_average() -> float:
    """Return how many processes wanted a core during the last minute."""
    return round(psutil.getloadavg()[0], 2)


def reference_ms() -> float:
    """Time a fixed piece of work on one core: hashing a megabyte, the median of a hundred.

    Returns:
        Milliseconds: how fast this machine is right now.
    """
    data = bytes(2**20)
    seconds = timeit.repeat(lambda: hashlib.blake2b(data).digest(), number=1, repeat=100)
    return round(statistics.median(seconds) * 1e3, 3)


def configuration(path: Path, **sections: dict[str, Any]) -> Config:
    """Load the configuration with a store of its own, and without idle work.

    Idle rules would read thousands of turns on another thread while something else is measured. A
    benchmark of idle work itself asks for it with ``idle={"enabled": True}``.

    Args:
        path: The store's folder.
        **sections: Changes by section, for example ``recall={"deadline_ms": 1000.0}``.

    Returns:
        The defaults with these changes, without overrides from the environment.
    """
    config = load(None, environ={})
    changes: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "idle": {"enabled": False},
    }
    for name, values in sections.items():
        changes[name] = changes.get(name, {}) | values
    made = {name: replace(getattr(config, name), **values) for name, values in changes.items()}
    return replace(config, **made)


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="slowcat-bench-") as folder:
        yield Path(folder)


class Program(subprocess.Popen[str]):
    """A module of the benchmarks in a process of its own; reads and writes a line of JSON each.

    As a context it ends its standard input with the block, and waits for the process to end.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        command, pipe = (sys.executable, "-m", module, *arguments), subprocess.PIPE
        super().__init__(command, stdin=pipe, stdout=pipe, text=True)

    def tell(self, value: Any) -> None:
        """Send it plain values; does not wait."""
        print(json.dumps(value), file=self.stdin, flush=True)

    def heard(self) -> Any:
        """Wait for what it sends next."""
        assert self.stdout
        return json.loads(self.stdout.readline())


def measure_parts(
    options: argparse.Namespace, parts: Mapping[str, Callable[..., dict[str, Any]]]
) -> None:
    """Measure what ``--only`` names; print and write all that is measured after each part.

    Args:
        options: Of the command line.
        parts: By name; takes the path of a store that is not there yet, and the options.
    """
    results = dict[str, Any]()
    for name in options.only:
        with scratch() as folder:
            results[name] = parts[name](folder / "store", options)
        console.print_json(data={name: results[name]})
        write_json(options.json, results)


def embedder_of(config: Config) -> LocalEmbedder:
    """Return the configured embedding model.

    Raises:
        ProviderError: It is not on this machine.
    """
    embedder, report = open_query_embedder(config.embedding)
    if not isinstance(embedder, LocalEmbedder):
        raise ProviderError(report.source, hint=report.hint)
    return embedder


@contextmanager
def thinking(
    options: ThinkingOptions, *, record: Path | None = None, replay: Path | None = None
) -> Iterator[LLM | None]:
    """Yield the LLM of idle work; None without a URL and without recorded answers.

    Args:
        options: Whose URL is the server's.
        record: Keeps every prompt and answer in this file.
        replay: Answers from such a file.
    """
    from tests.support.recorded_answers import RecordingLLM, ReplayingLLM  # others need no tests

    llm: LLM | None = ReplayingLLM(replay) if replay else open_llm(options)
    with ExitStack() as stack:
        yield stack.enter_context(closing(RecordingLLM(llm, record))) if llm and record else llm


def write_json(path: Path | None, results: dict[str, Any]) -> None:
    """Write results, when a file was asked for, behind the stamp of the run.

    Args:
        path: The file; None writes nothing.
        results: Plain values.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        stamped = stamp() | results
        path.write_text(json.dumps(stamped, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        console.print(f"results: {path}")


def read_json(path: Path) -> Any:
    """Read results back.

    Args:
        path: The file.

    Returns:
        Plain values.
    """
    return json.loads(path.read_text(encoding="utf-8"))


def value_at(results: Any, key: str) -> Any:
    """Return one value of a results file.

    Args:
        results: From ``read_json``.
        key: Keys and positions, split by "/".

    Raises:
        KeyError, IndexError: The file has no such value.
    """
    for part in key.split("/"):
        results = results[int(part) if isinstance(results, list) else part]
    return results
