"""Two bots, a command line, the page and an MCP host on one memory, for a simulated hour of talk.

Each is a process of its own, but the page, which this one serves. Anna talks to the bot in the
kitchen, Ben to the one in the study: a turn every six simulated seconds, ``pace`` in truth. The
others act for Anna meanwhile. Whatever is said or written down has a word of its own
(``xannakitchen17x``), so that the log can be searched for it, and every answer for the words of
others. At the end each turn and note is there once, and nothing came out where it must not:

- *lost*, *doubled*: turns that a bot answered, and notes that were acknowledged;
- *leaked*: Ben's words in what Anna's programs answered or her bot's LLM read, hers in what his
  read, local-only texts in what the MCP host read, muted ones in any prompt;
- *refused*: calls that failed.

    python -m tests.harness.many_programs --minutes 60 [--seed 1]
    python -m tests.harness.many_programs --minutes 5 --plant   # nothing is local-only or muted
"""

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, field

ROOT = Path(__file__).parents[2]
TURN_S = 6.0  # simulated, from one turn of a bot to its next
PACE_S = 0.5  # a pause after each turn
WAIT_S = 120.0
PEOPLE = {"kitchen": "anna", "study": "ben"}
WORD = re.compile(r"x(anna|ben)([a-z]+)(\d+)x")
THINGS = ("violin", "bicycle", "ladder", "kettle", "telescope", "umbrella", "passport", "drill")
PLACES = ("attic", "cellar", "garage", "hall", "shed", "wardrobe", "car", "kitchen drawer")


class Found(Struct):
    """What the programs saw.

    Attributes:
        said: Words of turns that were answered; of a bot's own process.
        noted: Words of notes that were acknowledged.
        hidden: Words that were marked, by when: (word, mark, seconds).
        leaks: What came out where it must not, and where.
        refused: Calls that failed, with their answers.
        calls: How often each program was called.
    """

    said: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    hidden: dict[str, tuple[str, float]] = field(default_factory=dict)
    leaks: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)


# ------------------------------------------------------------------- a bot's process


async def talk(folder: Path, name: str, turns: int, seed: int, pace_s: float) -> None:
    """Speak some turns with a bot; print what its LLM read, one line of JSON a turn."""
    from slowcat_memory import HybridContextualMemoryProcessor
    from tests.support.voice_pipeline import VoicePipeline

    person, rng = PEOPLE[name], random.Random(seed)
    config = _config(folder, person)
    processor = HybridContextualMemoryProcessor(config=config)
    troubles = list[str]()
    processor.add_event_handler("on_memory_trouble", lambda _, why: troubles.append(str(why)))
    async with VoicePipeline(lambda _: "Good.", memory=processor, ms_per_word=5) as voice:
        for n in range(turns):
            word = f"x{person}{name}{n}x"
            statement = f"My {rng.choice(THINGS)} {word} is in the {rng.choice(PLACES)}."
            question = f"Where is my {rng.choice(THINGS)}, {word}?"
            began = time.monotonic()
            await voice.exchange(question if n % 3 == 2 else statement)
            read = json.dumps(voice.server.requests[-1]["messages"])
            voice.server.requests.clear()
            voice.context.set_messages([])  # only the memory knows what was said before
            print(json.dumps({"word": word, "began": began, "read": read}), flush=True)
            await asyncio.sleep(pace_s)
        errors = [*voice.errors, *troubles]
    print(json.dumps({"errors": errors}), flush=True)


def _config(folder: Path, person: str) -> Any:
    from slowcat_memory.testing import memory_config

    # Deadlines are wide: what is asked here is what is recalled, not how soon.
    return memory_config(
        folder,
        memory={"path": str(folder), "user_id": person},
        recall={"deadline_ms": 2000.0, "warn_ms": 1e4, "floor": 0.0},
        embedding={"kind": "none"},
    )


@contextmanager
def bot(
    folder: Path, name: str, turns: int, seed: int, pace_s: float, found: Found
) -> Iterator[threading.Thread]:
    """Run a bot in a process; the thread ends when it has said everything."""
    arguments = [str(folder), name, str(turns), str(seed), str(pace_s)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.harness.many_programs", "--bot", *arguments],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LOGURU_LEVEL": "ERROR"},
    )  # fmt: skip
    assert process.stdout is not None
    lines = process.stdout

    def listen() -> None:
        ended = False
        for line in lines:
            row = json.loads(line)
            if "errors" in row:
                ended = True
                found.refused += [f"{name}: {error}" for error in row["errors"]]
                continue
            found.said.append(row["word"])
            found.calls[name] += 1
            look(found, name, row["read"], PEOPLE[name], row["began"], own=row["word"])
        if not ended:
            found.refused.append(f"{name} ended early")

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield thread
    finally:
        process.kill() if sys.exc_info()[0] else process.wait(WAIT_S)
        thread.join(WAIT_S)
        lines.close()


def look(found: Found, where: str, text: str, person: str, began: float, *, own: str = "") -> None:
    """Note what must not be in an answer that was begun at a time, or in a prompt."""
    for match in WORD.finditer(text):
        word = match[0]
        mark, since = found.hidden.get(word, ("", 0.0))
        if match[1] != person:
            found.leaks.append(f"{where}: {word} of another person")
        elif began > since and word != own and _is_kept_from(mark, where):
            found.leaks.append(f"{where}: {word}, {mark}")


def _is_kept_from(mark: str, where: str) -> bool:
    """Muted texts are in no prompt and no host's answer; people still list them."""
    return where == "mcp" if mark == "local" else mark == "mute" and where in ("mcp", *PEOPLE)


# ------------------------------------------------------------------- Anna's other programs


class CommandLine:
    """``slowcat-memory`` as a person at a shell runs it: a process each time."""

    def __init__(self, folder: Path, found: Found, *, plant: bool) -> None:
        self.found, self.plant, self.n = found, plant, 0
        self.command = [sys.executable, "-m", "slowcat_memory", "--path", str(folder)]
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), "LOGURU_LEVEL": "ERROR"}

    def __call__(self, *arguments: str, may_find_nothing: bool = False) -> str:
        began = time.monotonic()
        done = subprocess.run(
            [*self.command, "--user", "anna", *arguments],
            capture_output=True, text=True, env=self.environment, timeout=WAIT_S,
        )  # fmt: skip
        self.found.calls["command"] += 1
        if done.returncode > may_find_nothing:
            self.found.refused.append(f"{arguments}: {done.stdout[-300:]}{done.stderr[-300:]}")
        look(self.found, "command", done.stdout, "anna", began)
        return done.stdout

    def act(self, rng: random.Random) -> None:
        """Do one of the things that people do."""
        what = rng.choice(("remember", "search", "facts", "notes", "hide", "hide", "stats", "show"))
        if what == "remember":
            self.n += 1
            word = f"xannacommand{self.n}x"
            self("remember", f"The {rng.choice(THINGS)} {word} was a present.")
            self.found.noted.append(word)
        elif what == "hide":
            self._hide(rng.choice(("local", "mute")), rng.choice(THINGS))
        elif what == "search":
            self("search", f"where is the {rng.choice(THINGS)}", may_find_nothing=True)
        elif what == "show":
            self("show", "--last", "5")
        else:
            self(what, may_find_nothing=what != "stats")

    def _hide(self, mark: str, thing: str) -> None:
        asked = ("search", f"where is my {thing}", "--json")
        hits = json.loads(self(*asked, may_find_nothing=True) or "{}").get("hits") or []
        for hit in hits:
            text, id_ = hit["memory"]["text"], hit["memory"]["id"]
            words = [match[0] for match in WORD.finditer(text)]
            if words and not any(word in self.found.hidden for word in words):
                if not self.plant:
                    self(mark, id_)
                since = time.monotonic()
                self.found.hidden |= {word: (mark, since) for word in words}
                return


async def ask_host(folder: Path, found: Found, ended: Callable[[], bool], seed: int) -> None:
    """Call the tools of an MCP server over standard input until everything is said."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters

    from tests.support.mcp_host import Host, named

    rng, n = random.Random(seed), 0
    arguments = ["-m", "slowcat_memory", "--path", str(folder), "--user", "anna", "mcp"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(
        server, client_info=named("a desktop"), read_timeout_seconds=WAIT_S
    ) as client:
        host = Host(client)
        while not ended():
            began, word = time.monotonic(), ""
            if rng.random() < 0.3:
                n += 1
                word = f"xannahost{n}x"
                failed, text = await host.ask("remember", text=f"The parcel {word} came today.")
            elif rng.random() < 0.5:
                asked = f"where is my {rng.choice(THINGS)}"
                failed, text = await host.ask("search_memory", query=asked)
            else:
                failed, text = await host.ask("recent")
            found.calls["mcp"] += 1
            if failed:
                found.refused.append(f"mcp: {text[:300]}")
            elif word:
                found.noted.append(word)
            look(found, "mcp", text, "anna", began, own=word)
            await asyncio.sleep(0.2)


def look_at_page(folder: Path, found: Found, ended: Callable[[], bool], seed: int) -> None:
    """Open views of the page, pin and unpin, until everything is said."""
    from slowcat_memory.owner import open_memory
    from slowcat_memory.web import PageContext
    from tests.support.page_client import entered
    from tests.support.page_memory import Running

    rng, memory = random.Random(seed), open_memory(_config(folder, "anna"), client="page")
    views = ("know/facts", "said/conversations", "said/search?q=ladder", "health", "health/process")
    try:
        with Running(PageContext(memory, person="anna")) as running:
            client = entered(running)
            while not ended():
                began = time.monotonic()
                view = rng.choice(views)
                answer = client.ask("GET", f"/api/{view}")
                found.calls["page"] += 1
                if answer.status != 200:
                    found.refused.append(f"page {view}: {answer.status} {answer.body[:300]!r}")
                look(found, "page", answer.body.decode(), "anna", began)
                if view.startswith("said/search") and (rows := answer.value["rows"]):
                    pinned = client.change("mark", id=rng.choice(rows)["id"], pinned=True)
                    if pinned.status != 200:
                        found.refused.append(f"page pins: {pinned.status} {pinned.body[:300]!r}")
                time.sleep(0.2)
    finally:
        memory.release()


# ------------------------------------------------------------------- the hour


def hour(
    folder: Path, minutes: float, seed: int = 1, *, pace_s: float = PACE_S, plant: bool = False
) -> Found:
    """Let everybody use one memory for some simulated minutes; return what was seen."""
    found, rng = Found(), random.Random(seed)
    turns = round(minutes * 60 / TURN_S)
    with ExitStack() as stack:
        bots = [
            stack.enter_context(bot(folder, name, turns, seed + n, pace_s, found))
            for n, name in enumerate(PEOPLE)
        ]
        while len(found.said) < 2 * len(PEOPLE) and any(one.is_alive() for one in bots):
            time.sleep(0.05)  # there is something to look at

        def ended() -> bool:
            return not any(one.is_alive() for one in bots)

        others = [
            threading.Thread(target=_guarded, args=(found, "mcp", lambda: asyncio.run(
                ask_host(folder, found, ended, seed)))),
            threading.Thread(target=_guarded, args=(found, "page", lambda: look_at_page(
                folder, found, ended, seed))),
        ]  # fmt: skip
        for one in others:
            one.start()
        person = CommandLine(folder, found, plant=plant)
        while not ended():
            person.act(rng)
        for one in others:
            one.join(WAIT_S)
    return found


def _guarded(found: Found, name: str, work: Callable[[], None]) -> None:
    try:
        work()
    except Exception as error:  # a law is broken, and says where
        found.refused.append(f"{name}: {type(error).__name__}: {error}")


def judge(folder: Path, found: Found) -> dict[str, list[str]]:
    """Return which words are lost, doubled, leaked, and which calls were refused."""
    from slowcat_memory.store import Store

    logged = Counter[str]()
    with Store.open(folder) as store, store.snapshot() as snapshot:
        for scope in PEOPLE.values():
            users = (turn for turn in snapshot.turns(scope) if turn.role == "user")
            logged.update(_words(turn.text for turn in users))
            notes = (one for one in snapshot.memories(scope) if one.kind == "note")
            logged.update(_words(one.text for one in notes))
    expected = [*found.said, *found.noted]
    return {
        "lost": [word for word in expected if not logged[word]],
        "doubled": [word for word in expected if logged[word] > 1],
        "leaked": found.leaks,
        "refused": found.refused,
    }


def _words(texts: Iterator[str]) -> Iterator[str]:
    return (match[0] for text in texts for match in WORD.finditer(text))


def main() -> int:
    if sys.argv[1:2] == ["--bot"]:
        folder, name, turns, seed, pace = sys.argv[2:]
        asyncio.run(talk(Path(folder), name, int(turns), int(seed), float(pace)))
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="simulated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=PACE_S, help="seconds after each turn")
    parser.add_argument("--plant", action="store_true", help="plant a fault: it must be found")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "memory"
        began = time.monotonic()
        found = hour(folder, given.minutes, given.seed, pace_s=given.pace, plant=given.plant)
        laws = judge(folder, found)
        print(json.dumps({
            "minutes": given.minutes, "took_s": round(time.monotonic() - began),
            "calls": found.calls, "hidden": len(found.hidden),
            **{name: what[:20] for name, what in laws.items()},
        }, indent=1))  # fmt: skip
    return int(any(laws.values()))


if __name__ == "__main__":
    sys.exit(main())
