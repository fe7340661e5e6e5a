"""Test doubles for a clock, an embedder and an LLM, and checks of the contracts of jobs and embedders.

They need no model and no Pipecat. ``testing.server`` has a scripted LLM server;
``testing.headless`` plays a whole pipeline.

Example::

    clock = FixedClock()
    engine = MemoryEngine(memory_config(tmp_path), embedder=HashEmbedder(), clock=clock)
"""

import asyncio
import hashlib
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from slowcat_memory.clock import SystemClock
from slowcat_memory.config import Config, build_options
from slowcat_memory.core.ranking.token_codes import quantise
from slowcat_memory.core.text.normalize import estimate_tokens, fingerprint
from slowcat_memory.idle.job import Contexts, Job, JobDeps, Maintenance
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.registry import problem_of
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.providers import (
    LLM,
    Answer,
    Embedded,
    Embedder,
    Encoded,
    Prompt,
)
from slowcat_memory.providers.llm.reply_parsing import parse_reply
from slowcat_memory.records import Event, Task, WriteBatch
from slowcat_memory.store import Store, StoreOptions

T = TypeVar("T", bound=Struct)


class FixedClock:
    """A clock that changes only with ``advance``: time passes on all its clocks.

    Setting ``now``, which is aware, is setting a wall clock: the boot clock does not follow.

    Attributes:
        synchronised: Whether the system says that its time is right.
    """

    def __init__(self, now: datetime = datetime(2026, 5, 12, 12, tzinfo=UTC)) -> None:
        self.now, self.synchronised = now, True
        self._boot_s = 0.0

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self._boot_s += seconds

    def boot_s(self) -> float:
        return self._boot_s

    def is_synchronised(self) -> bool:
        return self.synchronised


class HashEmbedder:
    """An embedder that hashes words: texts with shared words have near vectors.

    Deterministic on every machine. Works as query and as document embedder. With a ``token_dim``
    it also returns token vectors: each word is one direction, whatever its context. Another
    ``name`` or ``dim`` is another vector space.
    """

    def __init__(self, dim: int = 64, name: str = "hashed-words", token_dim: int = 0) -> None:
        self.name, self.dim, self.token_dim = name, dim, token_dim
        self.key = f"{name}/{dim}"
        self.token_key = f"{self.key}~words/{token_dim}" if token_dim else ""

    def encode(self, texts: Sequence[str]) -> Embedded:
        rows = [self.encode_query(text).vector for text in texts]
        tokens = [quantise(self._words(text)) for text in texts] if self.token_key else []
        return Embedded(np.array(rows, np.float32).reshape(-1, self.dim), tokens)

    def encode_query(self, text: str) -> Encoded:
        row = np.zeros(self.dim, np.float32)
        for word in fingerprint(text).split():
            place, sign = self._place(word)
            row[place] += sign
        if not row.any():
            row[0] = 1.0
        tokens = self._words(text).astype(np.float32) if self.token_key else None
        return Encoded(row / np.linalg.norm(row), tokens)

    def _words(self, text: str) -> np.ndarray:
        places = [self._place(word) for word in fingerprint(text).split()]
        rows = np.zeros((len(places), self.token_dim), np.int8)
        for row, (place, sign) in zip(rows, places, strict=True):
            row[place % self.token_dim] = sign
        return rows

    def _place(self, word: str) -> tuple[int, float]:
        seed = f"{self.name}\0{word}".encode("utf-8", "replace")
        number = int.from_bytes(hashlib.blake2b(seed, digest_size=8).digest())
        return number // 2 % self.dim, 1.0 if number % 2 else -1.0


class ScriptedLLM:
    """An LLM that answers by script; its answers are parsed and checked like any LLM's.

    Example::

        llm = ScriptedLLM(lambda prompt: {"note": "Anna's dog is called Max."})

    Attributes:
        prompts: Every prompt, in order.
    """

    remote = False

    def __init__(
        self,
        reply: Callable[[Prompt], "dict[str, Any] | Struct | str | Exception"],
        *,
        prompt_tokens: int = 2500,
        model: str = "scripted@test",
    ) -> None:
        """Set the script.

        Args:
            reply: Returns the answer to a prompt: a value to encode as JSON, a raw text, or an error
                to raise.
        """
        self._reply = reply
        self.prompt_tokens, self.model = prompt_tokens, model
        self.prompts: list[Prompt] = []

    async def complete(self, prompt: Prompt, into: type[T]) -> Answer[T]:
        """Answer by script.

        Raises:
            BadAnswerError: The answer does not parse; nothing is repaired.
            Exception: The error that the script returned.
        """
        self.prompts.append(prompt)
        await asyncio.sleep(0)  # a place to be cancelled
        reply = self._reply(prompt)
        if isinstance(reply, Exception):
            raise reply.with_traceback(None)  # one object may be raised a thousand times
        text = reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        read = estimate_tokens(prompt.system) + estimate_tokens(prompt.user)
        return replace(
            parse_reply(text, into),
            model=self.model,
            tokens_in=read,
            tokens_out=estimate_tokens(text),
        )


def memory_config(path: Path | str, **sections: dict[str, Any]) -> Config:
    """Return a configuration for tests: UTC, no vectors, idle work off, very long deadlines.

    Args:
        **sections: Overrides by section, as in config.toml.
    """
    values: dict[str, dict[str, Any]] = {
        "memory": {"path": str(path), "time_zone": "UTC"},
        "recall": {"deadline_ms": 10_000.0, "settle_ms": 10_000.0, "warn_ms": 10_000.0},
        "embedding": {"kind": "none"},
        "idle": {"enabled": False},
        "thinking": {"url": ""},
    }
    for section, knobs in sections.items():
        values.setdefault(section, {}).update(knobs)
    return build_options(values)


# ------------------------------------------------------------------- a job


PLAN_S = 0.25  # a plan takes milliseconds, more on a busy machine
SMALL = StoreOptions(map_size_gib=1 / 16)
OPTIONS = IdleOptions(grace_s=0.0, rest_s=0.01, backoff_s=0.01)


async def think(
    store: Store, *jobs: Job, llm: LLM | None = None, now: datetime | None = None
) -> int:
    """Run jobs to the end with the real idle loop; return the tasks left, failed ones not counted.

    Jobs have their default options, and no upkeep. ``now`` is None for the present.
    """
    gate = IdleGate(IdleOptions(grace_s=0.0))
    with closing(_contexts(store, llm, now)) as contexts:
        # The clock of the jobs may stand.
        loop = IdleLoop(jobs, gate, contexts, options=OPTIONS, clock=SystemClock())
        return await loop.run_until_done(patience_s=5.0)


def check_job(job: Job, events: Sequence[Event], *, llm: LLM | None = None) -> None:
    """Check that a job keeps the contract of ``Job``.

    Args:
        events: Events that make work for the job.
        llm: Its LLM, if it needs one. The same prompt must give the same answer.

    Raises:
        AssertionError: It breaks the contract.
    """
    assert not (problem := problem_of(job)), problem
    assert msgspec.structs.asdict(job.Options()) is not None, "its options have no defaults"
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(Path(folder, "one"), options=SMALL) as store:
            _append(store, events)
            with closing(_contexts(store, llm)) as contexts:
                asyncio.run(_check_by_hand(job, contexts, store))
        with Store.open(Path(folder, "two"), options=SMALL) as store:
            _append(store, events)
            asyncio.run(_check_in_loop(store, partial(think, store, job, llm=llm)))


def _append(store: Store, events: Sequence[Event]) -> None:
    for ack in store.append_all([replace(event, id=0) for event in events]):
        ack.wait()


def _contexts(store: Store, llm: LLM | None, now: datetime | None = None) -> Contexts:
    def scopes() -> list[str]:
        with store.snapshot() as snapshot:
            return snapshot.scopes()

    return Contexts(
        JobDeps(
            store=store,
            upkeep=cast(Maintenance, None),
            clock=lambda: now or datetime.now(UTC),
            zone=UTC,
            scopes=scopes,
            llm=llm,
        )
    )


async def _check_by_hand(job: Job, contexts: Contexts, store: Store) -> None:
    """Plan twice and step twice: nothing may be written, and the results must be equal."""
    before = _contents(store)
    job.plan(contexts(job))  # fill caches
    began = time.perf_counter()
    plan = job.plan(contexts(job))
    took = time.perf_counter() - began
    assert took < PLAN_S, f"planning took {took * 1e3:.0f} ms: look at a piece of the log at a time"
    assert plan and plan.tasks, "it finds nothing to do in these events"
    again = job.plan(contexts(job))
    assert again, "it keeps state of what it has planned"
    ids = [task.id for task in plan.tasks]
    assert len(set(ids)) == len(ids), "two tasks have the same id"
    assert ids == [task.id for task in again.tasks], "the same work gets another id the next time"
    for task in plan.tasks:
        assert task.id == f"{job.name}/{task.scope}/{task.key}", f"{task.id} is not a valid task id"
        assert task.job == job.name, "a task of another job"
    for task in plan.tasks[:5]:
        await _check_step(job, task, contexts)
    assert _contents(store) == before, "plan or step has written something itself"


async def _check_step(job: Job, task: Task, contexts: Contexts) -> None:
    step = asyncio.ensure_future(job.step(task, contexts(job)))
    await asyncio.sleep(0)
    step.cancel()  # as when a user speaks
    await asyncio.wait((step,), timeout=1.0)
    assert step.done(), "a cancelled step does not stop"
    batches = [await job.step(task, contexts(job)) for _ in range(2)]
    for batch in batches:
        assert isinstance(batch, WriteBatch), "a step returned no WriteBatch"
        assert not batch.done and batch.run is None, "the loop adds ``done`` and ``run``"
        for memory in batch.memories:
            assert memory.scope, "a memory has no scope"
            assert memory.sources, "a memory has no sources: a forget could not find it"
            assert memory.made and memory.made.job == job.name, "a memory does not name its job"
    first, second = (
        {(m.scope, m.id) for m in batch.memories} | {(k.scope, k.id) for k in batch.keys}
        for batch in batches
    )
    assert first == second, "a task that is done twice writes other records"


async def _check_in_loop(store: Store, run: Callable[[], Awaitable[int]]) -> None:
    rest = await run()
    with store.snapshot() as snapshot:
        dead, runs = snapshot.tasks(state="dead"), len(snapshot.runs())
    assert not rest, f"{rest} tasks are never done"
    assert not dead, f"{len(dead)} tasks failed: {dead[0].error}"
    contents = _contents(store)
    await run()
    with store.snapshot() as snapshot:
        assert len(snapshot.runs()) == runs, "finished work is due again"
    assert _contents(store) == contents, "finished work is done again"


def _contents(store: Store) -> bytes:
    with store.snapshot() as snapshot:
        rows = [
            (list(snapshot.memories(s)), list(snapshot.contexts(s)), list(snapshot.keys(s)))
            for s in snapshot.scopes()
        ]
        return msgspec.json.encode((rows, snapshot.tasks()))


# ------------------------------------------------------------------- an embedder


ODD_TEXTS = (
    "",
    " \n\t ",
    "...",
    "a\x00b",
    "\ud800 lone \udfff",
    "e\u0301\u200d\u202e\ufeff",
    "👩‍👩‍👧 漢字 ﷺ",
    "x" * 4000,
)


def check_embedder(embedder: Embedder) -> None:
    """Check the contract of ``Embedder``.

    Raises:
        AssertionError: It breaks the contract.
    """
    assert embedder.name and embedder.dim > 0, "it has no name, or no dimension"
    assert embedder.key.endswith(f"/{embedder.dim}"), "its key does not end with its dimension"
    _check_vectors(embedder, [])
    rows = _check_vectors(embedder, ODD_TEXTS)
    assert np.array_equal(rows, embedder.encode(ODD_TEXTS).vectors), "it is not deterministic"
    alone = np.concatenate([_check_vectors(embedder, [text]) for text in ODD_TEXTS])
    assert np.allclose(rows, alone, atol=1e-5), "a vector depends on its neighbours"
    _check_vectors(embedder, ["one million bytes. " * 55_000])


def _check_vectors(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    rows = embedder.encode(texts).vectors
    assert rows.shape == (len(texts), embedder.dim), f"{rows.shape} for {len(texts)} texts"
    assert rows.dtype == np.float32, f"{rows.dtype} is not float32"
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4), "not of unit length"
    return rows
