"""Measures what the mechanism in shared.py promises: ``python -m spike.measure SCENE [options]``.

Every scene prints its counts and ends with 1 when its law is broken. Nothing of the package is used
except the tracer and the disk of the power-loss harness.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import lmdb

from spike.shared import POINTS, Shared, ident

SMALL = 1 << 26
ROLES = {}


def token(key):
    return b"secret-" + key.hex().encode()


def role(function):
    ROLES[function.__name__] = function
    return function


def spool(root, kind, me):
    return os.open(f"{root}.{kind}.{me}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def lines(root, kind):
    for path in sorted(root.parent.glob(f"{root.name}.{kind}.*")):
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                yield path.name, line.split()


@role
def writer(root, me, rate=250.0, length=0, map_size=0):
    store, acks, count = Shared(root), spool(root, "ack", me), 0
    early = os.environ.get("SPIKE_FAULT") == "early-ack"
    while True:
        rows = []
        for _ in range(random.randint(1, 3)):
            count += 1
            key = ident(count)
            rows.append((key, token(key) + bytes(int(length))))
        began = time.perf_counter()
        told = "".join(f"{key.hex()} {{:.3f}}\n" for key, _ in rows)
        if early:
            os.write(acks, told.replace("{:.3f}", "0").encode())
        try:
            store.append(rows)
        except lmdb.Error as error:
            os.write(spool(root, "error", me), f"{type(error).__name__}\n".encode())
            time.sleep(0.05)
            continue
        took = (time.perf_counter() - began) * 1000
        if not early:
            os.write(acks, told.replace("{:.3f}", f"{took:.3f}").encode())
        time.sleep(random.expovariate(float(rate)))


@role
def rewriter(root, me, pause=0.05, share=0.01, sweep=0.1):
    store, gone, meant = Shared(root), spool(root, "gone", me), spool(root, "meant", me)
    while True:
        time.sleep(random.random() * 2 * float(pause))
        with store.read() as txn:
            drop = {k for k, _ in txn.cursor(store.tables[0]) if random.random() < float(share)}
        told = "".join(f"{key.hex()}\n" for key in drop).encode()
        os.write(meant, told)
        try:
            store.rewrite(lambda key, drop=drop: key not in drop)
        except (lmdb.Error, OSError) as error:
            os.write(spool(root, "error", me), f"{type(error).__name__}\n".encode())
            continue
        os.write(gone, told)
        os.write(spool(root, "switch", me), b"1\n")
        if random.random() < float(sweep):
            store.sweep()


@role
def follower(root, me):
    """Catch up by change number; each number must come once, in order, without a gap."""
    store, followed, position = Shared(root), spool(root, "followed", me), 0
    while True:
        with store.read() as txn:
            cursor = txn.cursor(store.tables[1])
            found = []
            if cursor.set_range(struct.pack(">Q", position + 1)):
                for number, key in cursor:
                    found.append((struct.unpack(">Q", number)[0], key))
        if found:
            os.write(followed, "".join(f"{n} {k.hex()}\n" for n, k in found).encode())
            position = found[-1][0]
        time.sleep(0.001)


def start(root, name, me, env=None, **options):
    given = [f"{key}={value}" for key, value in options.items()]
    command = [sys.executable, "-m", "spike.measure", "role", name, str(root), str(me), *given]
    return subprocess.Popen(command, env=os.environ | (env or {}))


def fresh(map_size=SMALL, under=None):
    root = Path(tempfile.mkdtemp(prefix="sharing-")) / "store"
    if under:  # the reports stay on another disk
        root.symlink_to(tempfile.mkdtemp(dir=under))
    store = Shared(root, map_size)
    store.create()
    return root


def verdict(root, laws=()):
    """Compare what was acknowledged with what is there, as the next process finds it."""
    store = Shared(root)
    store.refresh()
    store.sweep()
    with store.read() as txn:
        rows = dict(txn.cursor(store.tables[0]))
        changes = [(struct.unpack(">Q", n)[0], k) for n, k in txn.cursor(store.tables[1])]
    acked = [bytes.fromhex(words[0]) for _, words in lines(root, "ack")]
    took = [float(words[1]) for _, words in lines(root, "ack")]
    meant = {bytes.fromhex(words[0]) for _, words in lines(root, "meant")}
    gone = {bytes.fromhex(words[0]) for _, words in lines(root, "gone")}
    body = b"".join(p.read_bytes() for p in root.rglob("*.mdb"))
    numbers, keys = [n for n, _ in changes], [k for _, k in changes]
    followed = {}
    for name, (number, key) in lines(root, "followed"):
        followed.setdefault(name, []).append((int(number), key))
    truth = {n: k.hex() for n, k in changes}
    law = {
        "lost": sum(k not in rows and k not in meant for k in acked),
        "changed": sum(not text.startswith(token(k)) for k, text in rows.items()),
        "undead": sum(k in rows for k in gone),
        "bytes_of_forgotten": sum(token(k) in body for k in gone),
        "numbers_wrong": int(numbers != list(range(1, len(numbers) + 1)))
        + len(keys)
        - len(set(keys)),
        "followed_wrong": sum(
            [n for n, _ in seen] != list(range(1, len(seen) + 1))
            or any(truth[n] != k for n, k in seen)
            for seen in followed.values()
        ),
        "left_behind": sum(p.name not in ("CURRENT", store.name) for p in root.iterdir()),
    }
    figures = {
        "acked": len(acked), "rows": len(rows), "forgotten": len(gone),
        "followed": sum(map(len, followed.values())), "switches": sum(1 for _ in lines(root, "switch")),
        "errors": dict(Counter(words[0] for _, words in lines(root, "error"))),
    }  # fmt: skip
    if took:
        took.sort()
        at = lambda share: round(took[int(share * (len(took) - 1))], 1)  # noqa: E731
        figures |= {"ack_p50_ms": at(0.5), "ack_p99_ms": at(0.99), "ack_max_ms": round(took[-1], 1)}
    store.close()
    return law, figures


def done(root, extra=None, laws=None):
    law, figures = verdict(root)
    law |= laws or {}
    print(json.dumps({**(extra or {}), **figures, "LAWS": law}), flush=True)
    if not any(law.values()):
        shutil.rmtree(root.parent)
    return law


def stop(processes):
    for process in processes:
        process.kill()
        process.wait()


def kills(count, seed, fault="", writers=3, rewriters=1):
    random.seed(seed)
    root, fault = fresh(), {"SPIKE_FAULT": fault}
    names = ["writer"] * writers + ["rewriter"] * rewriters + ["follower"]
    alive = {n: (name, start(root, name, n, fault)) for n, name in enumerate(names)}
    following = alive.pop(len(names) - 1)[1]
    time.sleep(1)
    died, number = 0, 100
    for _ in range(count):
        time.sleep(random.random() * 0.3)
        chosen = random.choice(sorted(alive))
        name, process = alive.pop(chosen)
        died += process.poll() is not None
        stop([process])
        number += 1
        alive[number] = name, start(root, name, number, fault)
    time.sleep(0.5)
    stop([p for _, p in alive.values()])
    time.sleep(0.2)
    died += following.poll() is not None
    stop([following])
    return done(root, {"scene": "kills", "kills": count, "seed": seed}, {"died": died})


def steps(each, seed):
    """A process is killed at a planted point while two writers and a follower go on."""
    random.seed(seed)
    root = fresh()
    others = [start(root, "writer", 1), start(root, "writer", 2), start(root, "follower", 3)]
    free, unreached, number = [], 0, 10
    for name in POINTS:
        for _ in range(each):
            number += 1
            what = "writer" if name.startswith("write-") else "rewriter"
            plant = {"SPIKE_PLANT": f"{name}:{random.randint(1, 3)}"}
            options = {} if what == "writer" else {"pause": 0.01}
            process = start(root, what, number, plant, **options)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                unreached += 1
                stop([process])
            began = time.perf_counter()
            probe = Shared(root)
            probe.write().abort()
            free.append((time.perf_counter() - began) * 1000)
            probe.close()
    died = sum(p.poll() is not None for p in others)
    time.sleep(0.3)
    stop(others[:2])
    time.sleep(0.2)
    stop(others)
    extra = {
        "scene": "steps",
        "points": len(POINTS),
        "kills": len(free),
        "lock_free_max_ms": round(max(free), 1),
    }
    return done(root, extra, {"unreached": unreached, "died": died})


def grow(seconds):
    """Generations begin with a map of 1 MiB; a full one is replaced by one twice as large."""
    root = fresh(1 << 20)
    others = [start(root, "writer", n, length=3000) for n in range(3)] + [
        start(root, "follower", 9)
    ]
    time.sleep(seconds)
    stop(others[:3])
    time.sleep(0.3)
    stop(others)
    store = Shared(root)
    store.refresh()
    size = store.env.info()["map_size"] >> 20
    store.close()
    return done(root, {"scene": "grow", "map_mib": size}, {"not_grown": int(size < 4)})


def stopped(times):
    """SIGSTOP inside a write transaction: readers go on, writers wait; SIGCONT or SIGKILL frees."""
    root, waits, reads, exits, broken, waiting = fresh(), [], [], [], 0, 0
    other = start(root, "writer", 1)
    for n in range(times):
        child = os.fork()
        if child == 0:
            store = Shared(root)
            txn = store.write()
            key = ident(n)
            txn.put(key, token(key), db=store.tables[0])
            os.kill(os.getpid(), signal.SIGSTOP)
            txn.abort()
            os._exit(0)
        os.waitpid(child, os.WUNTRACED)
        size = os.path.getsize(f"{root}.ack.1") if n else 0
        store = Shared(root, readonly=True)
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            began = time.perf_counter()
            with store.read() as txn:
                sum(1 for _ in txn.cursor(store.tables[0]))
            reads.append((time.perf_counter() - began) * 1000)
        store.close()
        blocked = os.fork()
        if blocked == 0:  # a process that waits to open for writing can still end
            opening = threading.Thread(target=Shared(root).refresh, daemon=True)
            opening.start()
            opening.join(0.2)
            os._exit(opening.is_alive())
        began = time.perf_counter()
        _, status = os.waitpid(blocked, 0)
        waiting += os.waitstatus_to_exitcode(status)
        exits.append((time.perf_counter() - began) * 1000 - 200)
        now = os.path.getsize(f"{root}.ack.1")
        broken += n > 0 and now - size > 400  # what it had acknowledged just before
        os.kill(child, signal.SIGCONT if n % 2 else signal.SIGKILL)
        began = time.perf_counter()
        while os.path.getsize(f"{root}.ack.1") == now and time.perf_counter() - began < 5:
            time.sleep(0.0005)
        waits.append((time.perf_counter() - began) * 1000)
        os.waitpid(child, 0)
    stop([other])
    extra = {
        "scene": "stopped", "times": times, "reads_meanwhile": len(reads),
        "read_max_ms": round(max(reads), 1), "writer_goes_on_max_ms": round(max(waits), 1),
        "openings_that_waited": waiting, "exit_of_a_waiting_process_max_ms": round(max(exits), 1),
    }  # fmt: skip
    return done(root, extra, {"wrote_past_the_lock": broken, "not_freed": int(max(waits) > 4000)})


def full(under, seconds=8):
    """The disk fills up under three writers and a rewriter; then room is made."""
    root = fresh(under=under)
    filler = Path(under) / "filler"
    others = [start(root, "writer", n, length=2000) for n in range(3)]
    others += [start(root, "rewriter", 8, share=0.02), start(root, "follower", 9)]
    time.sleep(seconds)
    before = sum(1 for _ in lines(root, "ack"))
    refused = sum(1 for _ in lines(root, "error"))
    free = shutil.disk_usage(under).free
    died = sum(p.poll() is not None for p in others)
    subprocess.run(["mount", "-o", "remount,size=256m", under], check=True)
    time.sleep(2)
    after = sum(1 for _ in lines(root, "ack"))
    died += sum(p.poll() is not None for p in others)
    stop(others[:4])
    time.sleep(0.3)
    stop(others)
    filler.unlink(missing_ok=True)
    ended = [process.returncode for process in others]
    extra = {
        "scene": "full",
        "ended": ended,
        "acked_before": before,
        "refused": refused,
        "free": free,
        "acked_after": after - before,
    }
    laws = {"died": died, "never_refused": int(not refused), "stays_full": int(after == before)}
    return done(root, extra, laws)


def fork(times):
    """A child of fork is refused, dies beside a transaction of its parent, and may open anew."""
    root, tally = fresh(), Counter()
    store, acks = Shared(root), spool(root, "ack", 0)
    for n in range(times):
        key = ident(n)
        txn = store.write()
        txn.put(key, token(key), db=store.tables[0])
        child = os.fork()
        if child == 0:
            code = 3
            try:
                store.read()
            except RuntimeError:
                code = 0
            if n % 2:
                del txn  # its destructor must not free the parent's lock
                os._exit(code)
            sys.exit(code)
        _, status = os.waitpid(child, 0)
        tally["refused"] += os.waitstatus_to_exitcode(status) == 0
        rival = start(root, "writer", f"{n + 1}")
        time.sleep(0.5)
        path = Path(f"{root}.ack.{n + 1}")
        tally["lock_lost"] += path.exists() and path.stat().st_size > 0
        number = struct.pack(">Q", txn.stat(store.tables[1])["entries"] + 1)
        txn.put(number, key, db=store.tables[1])
        txn.commit()
        os.write(acks, f"{key.hex()} 0\n".encode())
        time.sleep(0.5)
        tally["rival_goes_on"] += path.exists() and path.stat().st_size > 0
        stop([rival])
    store.close()
    laws = {"lock_lost": tally.pop("lock_lost"), "not_refused": times - tally["refused"]}
    laws["rival_stuck"] = times - tally["rival_goes_on"]
    return done(root, {"scene": "fork", "times": times, **tally}, laws)


def containers(times):
    """Two pid namespaces; the role has the same pid (2) in both, or another."""
    results = Counter()
    for n in range(times):
        same = n % 2 == 0
        root = fresh()
        processes = []
        for me in (1, 2):
            shift = "" if same or me == 1 else "(exit 0); (exit 0); (exit 0); "
            inner = f"{shift}{sys.executable} -m spike.measure role writer {root} {me} & wait"
            command = [
                "unshare",
                "--pid",
                "--fork",
                "--kill-child",
                "--mount-proc",
                "sh",
                "-c",
                inner,
            ]
            processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        time.sleep(3)
        stop(processes)
        time.sleep(0.3)
        wrote = len({name for name, _ in lines(root, "ack")})
        results[f"{'same' if same else 'other'}_pid_writers_{wrote}"] += 1
        law, _ = verdict(root)
        results["broken"] += any(law.values())
        shutil.rmtree(root.parent)
    print(json.dumps({"scene": "containers", "times": times, **results}))
    return {"broken": results["broken"]}


def private(rows):
    """Private memory of three processes that have the same store open and have read all of it."""
    root = fresh(1 << 31)
    store = Shared(root)
    for first in range(0, rows, 5000):
        store.append([(ident(first + n), os.urandom(700)) for n in range(5000)])
    store.close()
    children = []
    for _ in range(3):
        command = [sys.executable, "-m", "spike.measure", "role", "reader", str(root), "0"]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE))
    found = [json.loads(child.stdout.readline()) for child in children]
    stop(children)
    print(json.dumps({"scene": "private", "rows": rows, "processes": found}))
    return {}


@role
def reader(root, me):
    def private_kib():
        text = Path("/proc/self/smaps_rollup").read_text()
        return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private"))

    store, base = Shared(root), private_kib()
    store.refresh()
    opened = private_kib()
    with store.read() as txn:
        for table in store.tables:
            for _, value in txn.cursor(table):
                hash(value)
    time.sleep(3)  # so that all three map it
    print(json.dumps({"opened_kib": opened - base, "read_kib": private_kib() - base}), flush=True)
    time.sleep(60)


def costs(times):
    root = fresh()
    store = Shared(root)
    store.append([(ident(n), b"x") for n in range(1000)])

    def each(function):
        began = time.perf_counter()
        for _ in range(times):
            function()
        return round((time.perf_counter() - began) / times * 1e6, 2)

    def begin():
        txn = store.env.begin()
        txn.id()
        txn.abort()

    def moved():
        with store.env.begin() as txn:
            txn.get(b"moved", db=store.tables[2])

    micro = {"stat_us": each(store._stamp), "begin_us": each(begin), "moved_us": each(moved)}
    switch = []
    for _ in range(30):
        began = time.perf_counter()
        store.rewrite(lambda key: True)
        switch.append((time.perf_counter() - began) * 1000)
    print(
        json.dumps(
            {
                "scene": "costs",
                **micro,
                "switch_1000_rows_p50_ms": round(statistics.median(switch), 1),
            }
        )
    )
    return {}


def talk(seconds):
    """Acknowledgement of one process's appends, alone and while three others talk and one rewrites."""
    for name, others in (("alone", 0), ("with_three_talking", 3)):
        root = fresh()
        processes = [start(root, "writer", 1, rate=10)]
        processes += [start(root, "writer", 2 + n, rate=0.1) for n in range(others)]
        time.sleep(seconds)
        stop(processes)
        for path in root.parent.glob(f"{root.name}.ack.*"):
            if not path.name.endswith(".1"):
                path.unlink()
        done(root, {"scene": f"talk_{name}"})
    return {}


SCENES = {
    "kills": kills, "steps": steps, "grow": grow, "stopped": stopped, "full": full, "fork": fork,
    "containers": containers, "private": private, "costs": costs, "talk": talk,
}  # fmt: skip


def main():
    if sys.argv[1] == "role":
        random.seed(int(sys.argv[4]) + time.time_ns())
        given = dict(word.split("=") for word in sys.argv[5:])
        return ROLES[sys.argv[2]](Path(sys.argv[3]), int(sys.argv[4]), **given)
    parser = argparse.ArgumentParser()
    parser.add_argument("scene", choices=SCENES)
    parser.add_argument("given", nargs="*")
    args = parser.parse_args()
    values = [int(word) if word.lstrip("-").isdigit() else word for word in args.given]
    sys.exit(any(SCENES[args.scene](*values).values()))


if __name__ == "__main__":
    main()
