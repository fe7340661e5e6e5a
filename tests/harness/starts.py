"""Checks that an agent whose store cannot be opened answers, and remembers everything later.

Each round stores some turns, gives the store a reason not to open (or not to save, while it runs),
and holds a conversation through a real pipeline. Some rounds kill the agent while words wait; the
others end the reason, and the agent must get its memory back. Laws:

- late: every reply comes within ``REPLY_S``, without an error of the pipeline;
- deaf: the memory is back within ``BACK_S`` after the reason went away;
- lost: what was acknowledged is there, whatever happens; after a recovery, everything that was said;
- doubled: nothing is there twice; out of order: nothing changed places, and replies their turns;
- silent: one trouble is reported, and one return.

Reasons that need a disk of their own are real where this user may mount one (``unshare -rm``), and
faked elsewhere.
"""

import argparse
import asyncio
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from loguru import logger

from slowcat_memory import HybridContextualMemoryProcessor, MemoryEngine
from slowcat_memory.config import Config
from slowcat_memory.owner.backlog import Backlog, Entry
from slowcat_memory.testing import memory_config
from tests.support.held_store import held, logged_texts, refusing
from tests.support.memories import remember
from tests.support.voice_pipeline import VoicePipeline

REPLY_S, BACK_S = 5.0, 5.0
MOUNTED = "SLOWCAT_HARNESS_MAY_MOUNT"
Reason = Callable[[Path], AbstractContextManager[None]]


# ------------------------------------------------------------------- reasons


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Fill the disk of a folder to its last byte."""
    ballast = folder.parent / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError as error:
                assert error.errno == errno.ENOSPC
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    _mount("-o", "remount,ro", str(folder.parent))
    try:
        yield
    finally:
        _mount("-o", "remount,rw", str(folder.parent))


@contextmanager
def missing(folder: Path) -> Iterator[None]:
    """Leave a link to a disk that is not mounted."""
    disk = folder.parent / "disk"
    folder.rename(disk) if folder.exists() else disk.mkdir()
    folder.symlink_to(folder.parent / "mounted")
    try:
        yield
    finally:
        disk.rename(folder.parent / "mounted")


@contextmanager
def failing(_: Path) -> Iterator[None]:
    with refusing(errno.EIO):
        yield


REASONS: dict[str, Reason] = {"held": held, "missing": missing, "failing": failing}
ON_A_DISK: dict[str, Reason] = {"full": full, "read-only": read_only, "full while it runs": full}


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, capture_output=True)


@contextmanager
def disk(may_mount: bool) -> Iterator[Path]:
    """Make a folder, on a small disk of its own if possible."""
    folder = Path(tempfile.mkdtemp(prefix="starts-"))
    if may_mount:
        _mount("-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        if may_mount:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------- one round


class Agent:
    """A conversation, and what its application heard."""

    def __init__(self, config: Config) -> None:
        self.memory = HybridContextualMemoryProcessor(config=config, user_id="anna")
        self.reported: list[str] = []
        self.stored: list[str] = []
        self.said: list[tuple[str, str, str]] = []
        self.news = asyncio.Event()
        self.memory.add_event_handler("on_memory_trouble", self._on_trouble)
        self.memory.add_event_handler("on_memory_back", self._on_back)
        self.memory.add_event_handler("on_exchange_stored", self._on_stored)

    async def _on_trouble(self, _: object, error: Exception) -> None:
        self.reported.append(f"trouble: {error}")

    async def _on_back(self, _: object) -> None:
        self.reported.append("back")
        self.news.set()

    async def _on_stored(self, _: object, asked: object, said: object) -> None:
        self.stored.append(asked.text)  # type: ignore[attr-defined]
        print(f"stored {asked.text}", flush=True) if self.echoes else None  # type: ignore[attr-defined]

    echoes = False

    async def talk(self, voice: VoicePipeline, words: list[str]) -> None:
        for text in words:
            answer = await asyncio.wait_for(voice.exchange(text, interims=False), REPLY_S)
            self.said += [("user", text, ""), ("assistant", answer.content, text)]


def words(rng: random.Random, part: str) -> list[str]:
    return [
        f"{part} utterance number {n} is {rng.randrange(1 << 30)}" for n in range(rng.randint(1, 4))
    ]


async def converse(config: Config, rng: random.Random, name: str) -> list[str]:
    """Hold one conversation with a recovery; return the laws that it broke."""
    reason, runs = (REASONS | ON_A_DISK)[name], name.endswith("while it runs")
    before = logged_texts(config.folder) if (config.folder / "data.mdb").exists() else []
    agent, broken = Agent(config), []
    cause = reason(config.folder)
    if not runs:
        cause.__enter__()
    try:
        async with VoicePipeline(memory=agent.memory) as voice:
            await agent.talk(voice, words(rng, "first"))
            if runs:
                await asyncio.to_thread(agent.memory.engine.flush, 10)
                cause.__enter__()
            await agent.talk(voice, words(rng, "second"))
            if runs:
                while not agent.reported:  # the disk takes a few more
                    await agent.talk(voice, words(rng, "more"))
            cause.__exit__(None, None, None)
            try:
                await asyncio.wait_for(agent.news.wait(), BACK_S)
            except TimeoutError:
                broken.append("deaf")
            await agent.talk(voice, words(rng, "last"))
            if voice.errors:
                broken.append("late")
    except TimeoutError:
        broken.append("late")
    kinds = [one.partition(":")[0] for one in agent.reported]
    if kinds != ["trouble", "back"]:
        broken.append("silent")
    there = logged_texts(config.folder)
    return broken + judge(there, before, agent.said)


def judge(
    there: list[tuple[str, str, str]],
    before: list[tuple[str, str, str]],
    said: list[tuple[str, str, str]],
) -> list[str]:
    expected = [*before, *said]
    wanted, found = (Counter(row[:2] for row in rows) for rows in (expected, there))
    broken = []
    if wanted - found:
        broken.append("lost")
    if found - wanted:
        broken.append("doubled")
    if not broken and there != expected:
        broken.append("out of order")
    return broken


def die(config: Config, rng: random.Random, name: str) -> list[str]:
    """Kill an agent while words wait; return the laws that it broke."""
    before = logged_texts(config.folder) if (config.folder / "data.mdb").exists() else []
    command = [sys.executable, "-m", "tests.harness.starts", "--agent", str(config.folder)]
    with (REASONS | ON_A_DISK)[name](config.folder):
        agent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert agent.stdout
        lines: list[str] = []
        while sum(line.startswith("said") for line in lines) < rng.randint(1, 3):
            lines.append(agent.stdout.readline())
            if not lines[-1]:
                return ["late"]
        agent.send_signal(signal.SIGKILL)
        lines += agent.stdout.read().splitlines()
        agent.wait()
    MemoryEngine(config).close()
    there = logged_texts(config.folder)
    acked = [line.removeprefix("stored ").strip() for line in lines if line.startswith("stored")]
    texts = Counter(text for _, text, _ in there)
    broken = ["lost"] if any(text not in texts for text in acked) else []
    return broken + (["lost"] if Counter(before) - Counter(there) else [])


async def _be_agent(folder: Path) -> None:
    """Talk until killed."""
    agent = Agent(memory_config(folder))
    agent.echoes = True
    async with VoicePipeline(memory=agent.memory) as voice:
        while True:
            (text,) = words(random.Random(), "waiting")[:1]
            await agent.talk(voice, [text])
            print(f"said {text}", flush=True)


# ------------------------------------------------------------------- all rounds


def dropping() -> None:
    """Plant a fault: what waits loses one event of each batch."""
    pending = Backlog.pending

    def careless(self: Backlog) -> list[Entry]:
        waiting = pending(self)
        if len(waiting) > 2:
            self.settle(waiting.pop(-2).counter)
        return waiting

    Backlog.pending = careless  # type: ignore[method-assign]


def run(rounds: int, seed: int, *, kills: bool = True) -> dict[str, object]:
    may_mount = bool(os.environ.get(MOUNTED))
    names = [*REASONS, *(ON_A_DISK if may_mount else ())]
    broken: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for n in range(rounds):
        rng = random.Random(f"{seed} {n}")
        name = names[n % len(names)]
        killed = kills and name not in ("failing", "full while it runs") and rng.random() < 0.3
        with disk(may_mount) as folder:
            config = memory_config(folder / "memory")
            if rng.random() < 0.7 or name in ("read-only", "full"):
                remember(config, "User: My dog is called Max.", scope="anna")
            found = die(config, rng, name) if killed else asyncio.run(converse(config, rng, name))
        broken.update(found)
        done[f"{name}, killed" if killed else name] += 1
        if found:
            logger.error("round {} of seed {} ({}): {}", n, seed, name, found)
    laws = ("late", "deaf", "lost", "doubled", "out of order", "silent")
    return {"seed": seed, "rounds": dict(done), **{law: broken[law] for law in laws}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--control", action="store_true", help="lose one event of what waits")
    parser.add_argument("--agent", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    logger.remove()
    logger.add(sys.stderr, level="ERROR")
    if given.agent:
        asyncio.run(_be_agent(given.agent))
    if MOUNTED not in os.environ and shutil.which("unshare"):
        may = subprocess.run(
            ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True
        )
        if not may.returncode:
            os.environ[MOUNTED] = "1"
            again = [
                sys.executable,
                "-m",
                "tests.harness.starts",
                *sys.argv[1:],
                "--seed",
                str(given.seed),
            ]
            os.execvp("unshare", ["unshare", "-rm", *again])
    if given.control:
        dropping()
    began = time.monotonic()
    found = run(given.rounds, given.seed, kills=not given.control)
    print(json.dumps(found | {"seconds": round(time.monotonic() - began)}))


if __name__ == "__main__":
    main()
