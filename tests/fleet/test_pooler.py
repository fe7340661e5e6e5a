"""A fleet behind PgBouncer in transaction mode, roles and tenants included."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from slowcat_memory.fleet.fleet_process import Fleet
from slowcat_memory.records import Forget
from tests.fleet.talking import rows, say, talking
from tests.fleet.test_tenants import (
    Tenant,
    config_of,
    queries,
    test_tenants_a_worker_with_a_foreign_tenant_is_refused_by_name,  # noqa: F401
    test_tenants_two_people_of_one_name_are_two,  # noqa: F401
)
from tests.harness.puppets import until
from tests.support.rows import DATA

OLDEST = (1, 21)  # keeps prepared statements in transaction mode
CONFIG = (DATA / "fleet/pgbouncer.ini").read_text("utf-8")


def installed() -> str:
    """Return the program; skip the test where there is none, or an older one."""
    program = os.environ.get("PGBOUNCER") or shutil.which("pgbouncer")
    if program is None:
        pytest.skip("needs PgBouncer (Debian, Ubuntu: apt install pgbouncer, or PGBOUNCER)")
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+)\.(\d+)", told.stdout)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        pytest.skip(f"needs PgBouncer 1.21 or later, this is {told.stdout.split()[1]}")
    return program


@pytest.fixture
def two(dsn: str) -> Iterator[tuple[Tenant, Tenant]]:
    """Two tenants whose roles reach the server through a pooler alone."""
    program, made = installed(), (Tenant(dsn, "mine"), Tenant(dsn, "other"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        listens = free.getsockname()[1]
    shown = (queries(dsn, f"SHOW {name}")[0][0] for name in ("unix_socket_directories", "port"))
    host, port = (value.split(",")[0] for value in shown)
    folder = Path(tempfile.mkdtemp(prefix="pooler-"))  # another user's, if root runs the tests
    folder.chmod(0o777)
    users, pidfile = folder / "users", folder / "pid"
    users.write_text("".join(f'"{one.role}" ""\n' for one in made))
    config = folder / "pgbouncer.ini"
    settings = {"host": host, "port": port, "listens": listens, "users": users, "pidfile": pidfile}
    config.write_text(CONFIG.format(**settings))
    user = [] if os.getuid() else ["-u", Path(host).owner()]  # it refuses to run as root
    subprocess.run([program, "-q", "-d", *user, str(config)], check=True)
    path = urlsplit(dsn).path
    for one in made:
        one.dsn = f"postgresql://{one.role}@127.0.0.1:{listens}{path}"
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", listens)) == 0, "the pooler")
        yield made
    finally:
        os.kill(int(pidfile.read_text()), signal.SIGTERM)
        shutil.rmtree(folder)
        for one in made:
            queries(dsn, f"DELETE FROM slowcat.tenant WHERE role = '{one.role}'")
            queries(dsn, f"DROP OWNED BY {one.role}", f"DROP ROLE {one.role}")


def test_pooler_a_conversation_is_kept_and_forgotten(two, tmp_path):
    mine, _ = two
    with Fleet(config_of(mine, tmp_path / "a")) as first, talking(first) as member:
        say(member, "The safe's number is quobble.", "My dog is called Bello.")
    with Fleet(config_of(mine, tmp_path / "b")) as second:
        with talking(second) as member:
            assert member.forget(Forget(turns=(1,))).erased
            say(member, "My cat is called Mimi.")
        assert rows(second, "SELECT released FROM slowcat.owner WHERE tenant = $1") == [(True,)]
