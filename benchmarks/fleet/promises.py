"""What each queue keeps of three promises, tried once each on a real server.

- A result is in the log once, although its worker was killed between result and end.
- A task of a person is not handed out while a conversation holds the person's lease.
- An interrupted task is due again, and the interruption is no try.
"""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.fleet import workers
from benchmarks.fleet.workers import NEEDED, Ours, Procrastinate, Saq, append_result, people, talk


async def keep(uri: str, connection: Any, names: set[str]) -> dict[str, Any]:
    tries: dict[str, Callable[[str, Any], Awaitable[dict[str, Any]]]] = {
        "ours": _promised_ours,
        "procrastinate": _promised_procrastinate,
        "saq": _promised_saq,
    }
    await connection.execute("DELETE FROM task")
    return {name: await tries[name](uri, connection) for name in NEEDED if name in names}


async def _logged(connection: Any, person: str) -> int:
    return int(await connection.fetchval("SELECT count(*) FROM log WHERE person = $1", person))


async def _promised_ours(uri: str, connection: Any) -> dict[str, Any]:
    killed, talking, yields = await people(connection, "ours-promise", 3)
    worker, other = Ours(await workers.connect(uri), 0.2), Ours(connection, workers.LEASE_S)
    await other.put([killed])
    task = await worker.claim()
    await worker.finish(task, killed=True)
    worker.connection.terminate()  # between the statements and their commit
    await asyncio.sleep(0.4)
    assert await other.work()
    await other.put([talking])
    assert await talk(connection, talking)
    beside = await other.claim()
    await connection.execute("DELETE FROM task")
    await other.put([yields])
    task = await other.claim()
    assert await talk(connection, yields)
    late = await other.finish(task)
    row = await connection.fetchrow(
        "SELECT attempts, leased_by FROM task WHERE person = $1", yields
    )
    return {
        "results_after_kill": await _logged(connection, killed),
        "handed_out_beside_conversation": beside is not None,
        "interrupted": "due" if row["leased_by"] is None else "leased",
        "attempts": row["attempts"],
        "late_result_written": late,
    }


async def _promised_procrastinate(uri: str, connection: Any) -> dict[str, Any]:
    killed, talking = await people(connection, "procrastinate-promise", 2)
    async with Procrastinate.opened(uri, connection) as queue:
        await queue.put([killed])
        await queue.claim()
        await append_result(connection, killed)  # and the worker is killed here
        for job in await queue.jobs.get_stalled_jobs(seconds_since_heartbeat=0.0):
            await queue.jobs.retry_job(job)
        assert await queue.work()
        await queue.put([talking])
        assert await talk(connection, talking)
        beside = await queue.claim()
        await queue.finish(beside)
        retried = await _stopped_procrastinate(queue.app, connection, "retried", retry=3)
        plain = await _stopped_procrastinate(queue.app, connection, "plain", retry=False)
    return {
        "results_after_kill": await _logged(connection, killed),
        "handed_out_beside_conversation": beside is not None,
        "interrupted": retried[0],
        "attempts": retried[1],
        "interrupted_without_retry": plain[0],
    }


async def _stopped_procrastinate(app: Any, connection: Any, name: str, *, retry: Any) -> Any:
    """Stop one of its workers in the middle of a job; return the job's status and attempts."""
    begun = asyncio.Event()

    @app.task(name=name, queue=name, retry=retry)
    async def long() -> None:
        begun.set()
        await asyncio.sleep(60)

    await long.defer_async()
    worker = asyncio.create_task(
        app.run_worker_async(
            queues=[name],
            install_signal_handlers=False,
            listen_notify=False,
            shutdown_graceful_timeout=0.1,
        )
    )
    await asyncio.wait_for(begun.wait(), 20)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    row = await connection.fetchrow(
        "SELECT status::text, attempts FROM procrastinate_jobs WHERE task_name = $1", name
    )
    return row["status"], row["attempts"]


async def _promised_saq(uri: str, connection: Any) -> dict[str, Any]:
    worker = importlib.import_module("saq").Worker
    killed, talking, yields = await people(connection, "saq-promise", 3)
    async with Saq.opened(uri, connection) as queue:
        await queue.put([killed], timeout=1, retries=3)
        await queue.claim()
        await append_result(connection, killed)  # and the worker is killed here
        await asyncio.sleep(2.1)
        assert await queue.queue.sweep(abort=0.1)
        assert await queue.work()
        await queue.put([talking])
        assert await talk(connection, talking)
        beside = await queue.claim()
        await queue.finish(beside)
        begun = asyncio.Event()

        async def facts(_: Any, *, person: str) -> None:
            begun.set()
            await asyncio.sleep(60)

        await queue.put([yields], timeout=60, key="yields")
        running = worker(queue.queue, [("facts", facts)], concurrency=1)
        worker.SIGNALS = []
        started = asyncio.create_task(running.start())
        await asyncio.wait_for(begun.wait(), 20)
        await running.stop()
        await asyncio.gather(started, return_exceptions=True)
        job = await queue.queue.job("saq:job:facts:yields") or await queue.queue.job("yields")
    return {
        "results_after_kill": await _logged(connection, killed),
        "handed_out_beside_conversation": beside is not None,
        "interrupted": str(job.status.value),
        "attempts": job.attempts,
    }
