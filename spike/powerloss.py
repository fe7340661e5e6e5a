"""Power-loss images of a store that three processes write and a fourth replaces under them.

``python -m spike.powerloss IMAGES [SEED] [FAULT]``. The tracer and the disk are those of
tests/harness; here the tracer follows every process that the traced one forks.
"""

import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from spike import shared
from spike.shared import Shared, ident
from tests.harness import tracing
from tests.harness.children import ask
from tests.harness.powerloss import STYLES, Disk
from tests.harness.tracing import ALL_THREADS, Tracer, _ptrace

FORK_TOO = tracing.OPTIONS | 2 | 4
WRITERS, APPENDS, SWITCHES = 3, 40, 12


def work(root, said):
    """Three processes append and one replaces the generation; each reports its promises."""
    store = Shared(root, 1 << 22)
    store.create()
    os.write(said, b"R")
    children = []
    for me in range(WRITERS + 1):
        child = os.fork()
        if child == 0:
            random.seed(me)
            (append if me < WRITERS else replace)(root, said)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    os._exit(0)


def append(root, said):
    store = Shared(root)
    for count in range(APPENDS):
        if shared.FAULT:  # so that not all wait for the lock when CURRENT is replaced
            time.sleep(random.random() * 0.1)
        key = ident(count)
        store.append([(key, b"secret-" + key.hex().encode() + bytes(random.randint(0, 3000)))])
        os.write(said, b"A" + key)


def replace(root, said):
    store = Shared(root)
    for _ in range(SWITCHES):
        with store.read() as txn:
            drop = {k for k, _ in txn.cursor(store.tables[0]) if random.random() < 0.1}
        os.write(said, b"B" + b"".join(drop))
        store.rewrite(lambda key, drop=drop: key not in drop)
        os.write(said, b"F" + b"".join(drop))


class ManyProcesses(Tracer):
    """Follows forked processes too; their calls stand in the order in which they returned."""

    def follow(self):
        os.waitpid(self._pid, ALL_THREADS)
        _ptrace(tracing.SETOPTIONS, self._pid, 0, FORK_TOO)
        _ptrace(tracing.SYSCALL, self._pid)
        first, self.overlapping, self._began = self._pid, 0, {}
        while True:
            try:
                thread, status = os.waitpid(-1, ALL_THREADS)
            except ChildProcessError:
                return self.calls
            if os.WIFSTOPPED(status):
                lines = Path(f"/proc/{thread}/status").read_text().splitlines()
                self._pid = next(int(line.split()[1]) for line in lines if line.startswith("Tgid"))
                before = len(self.calls)
                self._stopped(thread, os.WSTOPSIG(status), status >> 16)
                if thread in self._pending:
                    self._began.setdefault(thread, before)
                else:
                    self._returned_sync(self._began.pop(thread, before), before)
            elif os.waitstatus_to_exitcode(status):
                raise AssertionError(f"a traced process failed: {status:#x} {thread == first}")

    def _returned_sync(self, began, before):
        """Count flushes during which another process wrote: the disk's model would flatter them."""
        new = self.calls[before:]
        if new and new[0].kind == "sync":
            between = self.calls[began:before]
            self.overlapping += any(c.inode == new[0].inode and c.kind == "write" for c in between)


def trace(root):
    numbers = tracing.NUMBERS[os.uname().machine]
    said = os.open(os.devnull, os.O_WRONLY)
    pid = os.fork()
    if pid == 0:
        tracing._be_traced(lambda fd: work(root, fd), said)
    tracer = ManyProcesses(pid, root, said, numbers)
    return tracer.follow(), tracer.overlapping


def judge(root, told):
    keys = {kind: set() for kind in "ABF"}
    for word in told:
        kind, body = chr(word[0]), word[1:]
        if kind in keys:
            keys[kind].update(body[at : at + 20] for at in range(0, len(body), 20))
    dead = b"".join(p.read_bytes() for p in root.rglob("*.mdb") if p.parent.name.startswith("dead"))
    store = Shared(root)
    store.refresh()
    here = b"".join(p.read_bytes() for p in root.rglob("*.mdb"))
    with store.read() as txn:
        rows = dict(txn.cursor(store.tables[0]))
        changes = [(int.from_bytes(n), k) for n, k in txn.cursor(store.tables[1])]
    key = ident(10**9)
    store.append([(key, b"secret-" + key.hex().encode())])  # it can go on
    store.sweep()
    texts_wrong = sum(not v.startswith(b"secret-" + k.hex().encode()) for k, v in rows.items())
    numbers = [n for n, _ in changes]
    forgotten = [b"secret-" + k.hex().encode() for k in keys["F"]]
    return {
        "lost": len(keys["A"] - keys["B"] - set(rows)),
        "undead": len(keys["F"] & set(rows)),
        "bytes_of_forgotten": sum(t in here or t in dead for t in forgotten),
        "corrupt": texts_wrong + int(numbers != list(range(1, len(numbers) + 1))),
    }


def main(images, seed=1, fault=""):
    shared.FAULT = fault
    scratch = Path(tempfile.mkdtemp(prefix="sharing-power-"))
    root = scratch / "store"
    root.mkdir()
    calls, overlapping = trace(root)
    shared.FAULT = ""
    ready = next(at for at, call in enumerate(calls) if call.kind == "say")
    # Half of the images fall between the copy of a switch and its promise.
    near = [at for at, c in enumerate(calls) if c.kind in ("rename", "mkdir") and at > ready]
    rng, tally, bad = random.Random(seed), Counter(), 0
    for number in range(images):
        upto = rng.randrange(ready + 1, len(calls) + 1)
        if number % 2:
            upto = min(len(calls), rng.choice(near) + rng.randrange(0, 24))
        disk = Disk(calls[:upto], root.stat().st_ino, rng, STYLES[number // 2 % len(STYLES)])
        image = scratch / "image"
        shutil.rmtree(image, ignore_errors=True)
        image.mkdir()
        for name, body in disk.files().items():
            (image / name).parent.mkdir(parents=True, exist_ok=True)
            (image / name).write_bytes(body)
        told = [call.data for call in calls[:upto] if call.kind == "say"]
        found = ask(lambda image=image, told=told: judge(image, told))
        tally.update({"died": 1} if found is None else found)
        bad += found is None or any(found.values())
    kinds = Counter(call.kind for call in calls)
    law = {
        name: tally[name] for name in ("lost", "undead", "bytes_of_forgotten", "corrupt", "died")
    }
    figures = {"images": images, "seed": seed, "fault": fault, "bad_images": bad}
    figures |= {kind: kinds[kind] for kind in ("write", "sync", "rename", "say")}
    print(
        json.dumps(
            {"scene": "powerloss", **figures, "overlapping_flushes": overlapping, "LAWS": law}
        )
    )
    sys.exit(bad > 0)


if __name__ == "__main__":
    given = [int(word) if word.isdigit() else word for word in sys.argv[1:]]
    main(*given)
