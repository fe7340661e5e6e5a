"""Three queues in one PostgreSQL, each as one worker uses it, and the statements of our own.

A *worker* here has connections of its own. It puts tasks, claims one, and ends one whose result, a
change set of 4 KB, is appended to the person's log.
"""

import importlib
import os
import uuid
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any

NEEDED = {"ours": ("asyncpg",), "procrastinate": ("procrastinate",), "saq": ("saq", "psycopg")}
BODY = 4096
TENANT = "home"
LEASE_S = 30.0

SCHEMA = """
CREATE TABLE owner (tenant text, person text, epoch bigint NOT NULL DEFAULT 0, holder text,
    purpose text, until timestamptz NOT NULL DEFAULT '-infinity',
    last_seq bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, person)) WITH (fillfactor = 50);
CREATE TABLE log (tenant text, person text, seq bigint, epoch bigint NOT NULL, kind text NOT NULL,
    body bytea NOT NULL, crc bigint NOT NULL, at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, person, seq));
ALTER TABLE log ALTER body SET STORAGE EXTERNAL;
CREATE TABLE task (tenant text, person text, job text,
    not_before timestamptz NOT NULL DEFAULT now(),
    attempts int NOT NULL DEFAULT 0, lease_until timestamptz NOT NULL DEFAULT '-infinity',
    leased_by text, body bytea NOT NULL DEFAULT '', PRIMARY KEY (tenant, person, job));
CREATE INDEX ON task (not_before);
CREATE TABLE run (tenant text, person text, job text, epoch bigint, at timestamptz DEFAULT now());
"""
# Locks the task and its person: a conversation that takes the person at this moment is passed over.
CLAIM = """
WITH due AS (
    SELECT tenant, person, job FROM task JOIN owner USING (tenant, person)
    WHERE not_before <= now() AND lease_until < now() AND until < now()
    ORDER BY not_before LIMIT 1 FOR UPDATE OF task, owner SKIP LOCKED
), mine AS (
    UPDATE owner SET epoch = epoch + 1, holder = $1, purpose = 'idle', until = now() + $2
    FROM due WHERE (owner.tenant, owner.person) = (due.tenant, due.person)
    RETURNING owner.tenant, owner.person, owner.epoch
)
UPDATE task SET lease_until = now() + $2, leased_by = $1
FROM due JOIN mine USING (tenant, person)
WHERE (task.tenant, task.person, task.job) = (due.tenant, due.person, due.job)
RETURNING task.tenant, task.person, task.job, task.body, mine.epoch
"""
# No row: the lease or the task is somebody else's by now, and the transaction is rolled back.
FINISH = """
WITH moved AS (
    UPDATE owner SET last_seq = last_seq + 1, until = '-infinity'
    WHERE (tenant, person, epoch) = ($1, $2, $3) RETURNING last_seq
), ended AS (
    DELETE FROM task USING moved WHERE (tenant, person, job, leased_by) = ($1, $2, $4, $5)
    RETURNING job
), ran AS (
    INSERT INTO run (tenant, person, job, epoch) SELECT $1, $2, job, $3 FROM ended
)
INSERT INTO log (tenant, person, seq, epoch, kind, body, crc)
SELECT $1, $2, last_seq, $3, 'rows', $6, $7 FROM moved, ended RETURNING seq
"""
APPEND = """
WITH moved AS (
    UPDATE owner SET last_seq = $4 WHERE (tenant, person, epoch, last_seq) = ($1, $2, $3, $4 - 1)
    RETURNING last_seq
)
INSERT INTO log (tenant, person, seq, epoch, kind, body, crc)
SELECT $1, $2, $4, $3, 'rows', $5, $6 FROM moved RETURNING seq
"""
# For the others: the result alone, its task is ended elsewhere. A lease is not even taken.
RESULT = """
WITH moved AS (
    UPDATE owner SET last_seq = last_seq + 1 WHERE (tenant, person, epoch) = ($1, $2, 0)
    RETURNING last_seq
)
INSERT INTO log (tenant, person, seq, epoch, kind, body, crc)
SELECT $1, $2, last_seq, 0, 'rows', $3, $4 FROM moved RETURNING seq
"""
PLAIN = """
INSERT INTO log (tenant, person, seq, epoch, kind, body, crc)
VALUES ($1, $2, $4, $3, 'rows', $5, $6)
"""
# A conversation takes a person from idle work at once; the task is due again, untried.
TAKE = """
WITH mine AS (
    UPDATE owner SET epoch = epoch + 1, holder = $3, purpose = 'talk', until = now() + $4
    WHERE (tenant, person) = ($1, $2) AND (until < now() OR purpose = 'idle')
    RETURNING tenant, person, epoch
), back AS (
    UPDATE task SET lease_until = '-infinity', leased_by = NULL
    FROM mine WHERE (task.tenant, task.person) = (mine.tenant, mine.person)
)
SELECT epoch FROM mine
"""


async def connect(uri: str) -> Any:
    return await importlib.import_module("asyncpg").connect(uri)


def body_and_crc() -> tuple[bytes, int]:
    body = os.urandom(BODY)
    return body, zlib.crc32(body)


class Ours:
    """Claims a task with its person; ends both with the result."""

    def __init__(self, connection: Any, lease_s: float = LEASE_S) -> None:
        self.connection, self.me = connection, uuid.uuid4().hex
        self.lease = timedelta(seconds=lease_s)

    async def put(self, people: list[str]) -> None:
        rows = [(TENANT, person, "facts") for person in people]
        await self.connection.executemany("INSERT INTO task VALUES ($1, $2, $3)", rows)

    async def claim(self) -> Any:
        return await self.connection.fetchrow(CLAIM, self.me, self.lease)

    async def finish(self, task: Any, *, killed: bool = False) -> bool:
        """End a task; ``killed`` leaves the transaction open. False when it is not ours anymore."""
        transaction = self.connection.transaction()
        await transaction.start()
        key = task["tenant"], task["person"], task["epoch"], task["job"], self.me
        if await self.connection.fetchval(FINISH, *key, *body_and_crc()) is None:
            await transaction.rollback()
            return False
        if not killed:
            await transaction.commit()
        return True

    async def work(self) -> bool:
        task = await self.claim()
        return task is not None and await self.finish(task)


async def ours(connection: Any) -> Ours:
    """Make a worker whose claims look up the people of tasks, and never read all people."""
    await connection.execute("SET enable_hashjoin = off; SET enable_mergejoin = off")
    return Ours(connection)


class Procrastinate:
    """``fetch_job`` and ``finish_job`` of its job manager; the append between them is ours."""

    def __init__(self, app: Any, worker: int, connection: Any) -> None:
        self.app, self.worker, self.connection = app, worker, connection
        self.jobs = app.job_manager

    @classmethod
    @asynccontextmanager
    async def opened(cls, uri: str, connection: Any) -> AsyncIterator["Procrastinate"]:
        package = importlib.import_module("procrastinate")
        app = package.App(connector=package.PsycopgConnector(conninfo=uri, min_size=1, max_size=2))
        async with app.open_async():
            if await connection.fetchval("SELECT to_regclass('procrastinate_jobs')") is None:
                await app.schema_manager.apply_schema_async()
            yield cls(app, await app.job_manager.register_worker(), connection)

    async def put(self, people: list[str]) -> None:
        defer = self.app.configure_task("facts", queue="facts")
        await defer.batch_defer_async(*({"person": person} for person in people))

    async def claim(self) -> Any:
        return await self.jobs.fetch_job(queues=["facts"], worker_id=self.worker)

    async def finish(self, job: Any) -> None:
        status = importlib.import_module("procrastinate.jobs").Status.SUCCEEDED
        await self.jobs.finish_job(job, status, delete_job=False)

    async def work(self) -> bool:
        if (job := await self.claim()) is None:
            return False
        await append_result(self.connection, job.task_kwargs["person"])
        await self.finish(job)
        return True


class Saq:
    """``dequeue``, the update that its worker makes before a job, and ``finish``."""

    def __init__(self, queue: Any, connection: Any) -> None:
        self.queue, self.connection = queue, connection
        self.status = importlib.import_module("saq.job").Status

    @classmethod
    @asynccontextmanager
    async def opened(cls, uri: str, connection: Any) -> AsyncIterator["Saq"]:
        queue = importlib.import_module("saq").Queue.from_url(
            uri, name="facts", min_size=2, max_size=3
        )
        await queue.connect()
        try:
            yield cls(queue, connection)
        finally:
            await queue.disconnect()

    async def put(self, people: list[str], **known: Any) -> None:
        for person in people:
            await self.queue.enqueue("facts", person=person, **known)

    async def claim(self) -> Any:
        job = await self.queue.dequeue(timeout=1.0)
        if job is not None:
            job.attempts += 1
            await job.update(status=self.status.ACTIVE)
        return job

    async def finish(self, job: Any) -> None:
        await job.finish(self.status.COMPLETE)

    async def work(self) -> bool:
        if (job := await self.claim()) is None:
            return False
        await append_result(self.connection, job.kwargs["person"])
        await self.finish(job)
        return True


async def append_result(connection: Any, person: str) -> None:
    """Append a result in a transaction of its own."""
    assert await connection.fetchval(RESULT, TENANT, person, *body_and_crc())


async def people(connection: Any, prefix: str, count: int) -> list[str]:
    """Make people whom nobody talks with."""
    made = [f"{prefix}-{n}" for n in range(count)]
    await connection.executemany(
        "INSERT INTO owner (tenant, person) VALUES ($1, $2)", [(TENANT, one) for one in made]
    )
    return made


async def talk(connection: Any, person: str) -> int | None:
    """Have a conversation take a person; return its epoch, None when it may not."""
    lease = timedelta(seconds=LEASE_S)
    found = await connection.fetchval(TAKE, TENANT, person, "bot", lease)
    return None if found is None else int(found)


@asynccontextmanager
async def opened(uri: str, name: str, count: int) -> AsyncIterator[list[Any]]:
    """Open so many workers of a queue; close their connections."""
    async with AsyncExitStack() as stack:
        made = list[Any]()
        for _ in range(count):
            connection = await connect(uri)
            stack.push_async_callback(connection.close)
            if name == "ours":
                made.append(await ours(connection))
            else:
                kind = Procrastinate if name == "procrastinate" else Saq
                made.append(await stack.enter_async_context(kind.opened(uri, connection)))
        yield made
