"""The contracts of an idle job and of an embedder, as checks for tests."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
import numpy as np

from slowcat_memory.clock import SystemClock
from slowcat_memory.core.ranking import token_codes
from slowcat_memory.core.ranking.token_codes import SCALE, maxsim
from slowcat_memory.idle.job import Contexts, Job, JobDeps, Maintenance
from slowcat_memory.idle.options import IdleOptions
from slowcat_memory.idle.registry import problem_of
from slowcat_memory.idle.scheduler.idle_gate import IdleGate
from slowcat_memory.idle.scheduler.loop import IdleLoop
from slowcat_memory.providers import LLM, Embedder, TokenEmbedder, token_key_of
from slowcat_memory.records import Event, Task, WriteBatch
from slowcat_memory.store import Store, StoreOptions

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
    for ack in store.append_all([msgspec.structs.replace(event, id=0) for event in events]):
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
    assert plan is not None and plan.tasks, "it finds nothing to do in these events"
    again = job.plan(contexts(job))
    assert again is not None, "it keeps state of what it has planned"
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
    """Check the contract of ``Embedder``, and of ``TokenEmbedder`` if it has a ``token_key``.

    Raises:
        AssertionError: It breaks the contract.
    """
    assert embedder.name and embedder.dim > 0, "it has no name, or no dimension"
    assert embedder.key.endswith(f"/{embedder.dim}"), "its key does not end with its dimension"
    _check_vectors(embedder, [])
    rows = _check_vectors(embedder, ODD_TEXTS)
    assert np.array_equal(rows, embedder.encode(ODD_TEXTS)), "it is not deterministic"
    alone = np.concatenate([_check_vectors(embedder, [text]) for text in ODD_TEXTS])
    assert np.allclose(rows, alone, atol=1e-5), "a vector depends on its neighbours"
    _check_vectors(embedder, ["one million bytes. " * 55_000])
    if token_key_of(embedder):
        _check_tokens(cast(TokenEmbedder, embedder))


def _check_vectors(embedder: Embedder, texts: Sequence[str]) -> np.ndarray:
    rows = embedder.encode(texts)
    assert rows.shape == (len(texts), embedder.dim), f"{rows.shape} for {len(texts)} texts"
    assert rows.dtype == np.float32, f"{rows.dtype} is not float32"
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4), "not of unit length"
    return rows


def _check_tokens(embedder: TokenEmbedder) -> None:
    dim = embedder.token_dim
    assert embedder.token_key.endswith(f"/{dim}"), "its token key does not end with its dimension"
    assert embedder.token_key != embedder.key, "its token vectors have no key of their own"
    assert embedder.encode_tokens([]).tokens == [], "an empty list has tokens"
    texts = [*ODD_TEXTS, "Anna: where is the red bicycle, Anna?"]
    batch = embedder.encode_tokens(texts)
    assert np.allclose(batch.vectors, embedder.encode(texts), atol=1e-5), "other vectors than alone"
    assert len(batch.tokens) == len(texts), f"tokens of {len(batch.tokens)} texts, not {len(texts)}"
    for text, rows in zip(texts, batch.tokens, strict=True):
        assert rows.dtype == np.int8 and rows.ndim == 2 and rows.shape[1] == dim, f"{rows.shape}"
        assert np.allclose(np.linalg.norm(rows, axis=1), SCALE, rtol=0.02), "not of unit length"
        alone = embedder.encode_tokens([text]).tokens[0]
        assert rows.shape == alone.shape, "tokens depend on the text's neighbours"
        assert np.abs(rows.astype(int) - alone).max(initial=0) <= 1, "tokens depend on neighbours"
    assert not len(batch.tokens[texts.index("...")]), "punctuation has a token vector"
    text = texts[-1]
    query = embedder.encode_query_tokens(text)
    assert query.tokens is not None and query.tokens.dtype == np.float32, "no float32 tokens"
    assert np.allclose(np.linalg.norm(query.tokens, axis=1), 1, atol=1e-4), "not of unit length"
    stored = [token_codes.encode(rows) for rows in embedder.encode_tokens([text, "no"]).tokens]
    same, other = maxsim(query.tokens, stored)
    assert same > 0.9 > other, f"its own text has {same:.2f}, another has {other:.2f}"
