"""Attacks on the page, each refused; beside each one the request that must be answered."""

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from slowcat_memory.records import Task, WriteBatch
from slowcat_memory.web import open_browser, private_link
from slowcat_memory.web.page_server import CHANGES, READS
from tests.support.page_client import Client, entered
from tests.support.page_memory import ANNA, MONDAY, Running, page_of
from tests.support.rows import cases, each_row, listed
from tests.support.stores import configured

JSON = {"Content_Type": "application/json"}
NOBODY = 65534
ASK = "import sys, urllib.request as u; print(u.urlopen(u.Request(sys.argv[1], headers={'X-Slowcat': sys.argv[2]})).status)"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = configured(tmp_path_factory.mktemp("safety") / "memory")
    with page_of(config) as made:
        yield made


@pytest.fixture
def client(running: Running) -> Client:
    return entered(running)


def addresses() -> list[tuple[str, str]]:
    """Return every address at which there is something of the memory."""
    reads = [("GET", f"/api/{name}") for name in (*READS, "events")]
    return reads + [("POST", f"/api/{name}") for name in CHANGES]


@each_row(("method", "path"), addresses())
@each_row("key", [None, "", "x", "page", "\xe9"])
def test_nothing_is_answered_without_the_key(client, method, path, key):
    """A cookie with the key is none: a server on another port would get it."""
    sent = {"Cookie": f"X-Slowcat={client.key}; slowcat={client.key}", "X_Slowcat": key, **JSON}
    found = client.ask(method, path, b"{}" if method == "POST" else None, **sent)
    assert found.status == 401
    assert b"Anna" not in found.body


def test_a_token_opens_the_page_once(running: Running) -> None:
    url = running.server.url()
    assert Client(url).enter().read("start")["scope"] == ANNA
    again = Client(url).change("enter", token=Client(url).token)
    assert again.status == 401
    assert "key" not in again.value


@pytest.mark.parametrize("token", ["x", "a" * 43, "é", "%00", "token"])
def test_a_guessed_token_opens_nothing(running: Running, token: str) -> None:
    waiting = Client(running.server.url())  # for its own
    assert waiting.change("enter", token=token).status == 401


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_of_the_machine_is_refused_even_with_the_key(client: Client) -> None:
    python = ["/usr/bin/python3", "-Ic", ASK]  # every user may run it
    for user, answer in ((None, "200"), (NOBODY, "403")):
        asked = subprocess.run(
            [*python, f"http://{client.host}/api/know/facts", client.key],
            user=user, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert answer in (asked.stdout.strip() or asked.stderr.splitlines()[-1])


@cases("web/safety.jsonl")
def test_a_rebound_name_is_refused(client: Client, host: str | None) -> None:
    sent = host.format(port=client.port) if host else host
    found = client.ask("GET", "/api/know/facts", Host=sent)
    assert found.status in (400, 421)
    assert b"Anna" not in found.body


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_another_origin_is_refused_and_never_allowed(client: Client, origin: str) -> None:
    sent = origin.format(port=client.port)
    for method, path in (("GET", "/api/know/facts"), ("OPTIONS", "/api/mark")):
        found = client.ask(method, path, Origin=sent)
        assert found.status == 403
        assert not [name for name in found.headers if name.startswith("access-control")]


@cases("web/safety.jsonl")
def test_who_embeds_or_fetches_the_page_is_itself(client: Client, headers, status: int) -> None:
    sent = {name: value.format(port=client.port) for name, value in headers.items()}
    assert client.ask("GET", "/api/start", **sent).status == status


def test_brackets_in_brackets_are_no_json_object(client: Client) -> None:
    answer = client.ask("POST", "/api/mark", b"[" * 60_000, Content_Type="application/json")
    assert answer.status == 400


@pytest.mark.parametrize("path", CHANGES)
def test_a_form_can_change_nothing(client: Client, path: str) -> None:
    """A form of another site can send a body, but neither our header nor JSON."""
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data"):
        sent = {"Content_Type": kind, "X_Slowcat": None}
        assert client.ask("POST", f"/api/{path}", b'{"on":1}', **sent).status == 401
        assert client.ask("POST", f"/api/{path}", b"{}", Content_Type=kind).status == 415
    assert client.ask("GET", f"/api/{path}").status == 405


@pytest.mark.parametrize("path", ["/api/start", "/static/app.js", "/", "/nothing", "/api/mark"])
def test_every_answer_has_the_policy(client: Client, path: str) -> None:
    found = client.ask("GET", path)
    assert found.headers["content-security-policy"].startswith("default-src 'self';")
    assert "unsafe" not in found.headers["content-security-policy"]
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert found.headers["server"] == "slowcat-memory"
    assert "access-control-allow-origin" not in found.headers
    assert "set-cookie" not in found.headers


@cases("web/safety.jsonl")
def test_no_other_file_is_served(client: Client, path: str) -> None:
    found = client.ask("GET", path)
    assert found.status in (400, 404)
    assert b"import" not in found.body


def test_errors_say_nothing_of_this_machine(client):
    bad = listed("web/safety.jsonl", "errors")
    bad += [["GET", f"know/memory?id={'x' * 3000}", None], ["POST", "correct", "x" * 70_000]]
    for method, path, body in bad:
        found = client.ask(method, f"/api/{path}", body.encode() if body else None, **JSON)
        assert 400 <= found.status < 500, found
        assert not re.search(rb"Traceback|File |/tmp|/home|\.py|Error\(|slowcat_memory", found.body)


def test_a_fault_of_the_page_says_nothing_of_this_machine(tmp_path: Path) -> None:
    with page_of(configured(tmp_path / "memory"), furnished=False) as running:

        def broken(*given: object, **named: object) -> None:
            raise RuntimeError(f"{tmp_path}: Anna's dog is called Max")

        running.page.memory.search = broken  # type: ignore[method-assign]  # a fault on purpose
        found = entered(running).ask("GET", "/api/said/search?q=dog")
    assert found.status == 500
    assert str(tmp_path).encode() not in found.body
    assert b"Max" not in found.body


def test_the_page_listens_on_this_machine_alone(running: Running) -> None:
    assert [address[0] for address in running.server._runner.addresses] == ["127.0.0.1"]
    assert running.server.guard.port > 1023


def test_with_a_scope_for_each_person_the_page_shows_one(tmp_path: Path) -> None:
    config = configured(tmp_path / "memory", people={"scopes": "each"})
    with page_of(config, person="ben") as running:  # the content is Anna's
        client = entered(running)
        assert client.read("start")["scopes"] == ["ben"]
        assert client.read("know/facts")["rows"] == []
        assert client.ask("GET", "/api/know/facts?scope=anna").status == 403
        for name in READS:
            assert b"Derby" not in client.ask("GET", f"/api/{name}?scope=anna").body
            assert b"Derby" not in client.ask("GET", f"/api/{name}?turn=10&session=anna-1").body
        for name in ("mark", "correct", "forget/preview", "forget", "wrong"):
            refused = client.change(
                name, scope="anna", id="chunk/10", pinned=True, turn=10, text="x"
            )
            assert refused.status == 403
        assert client.change("forget/preview", id="chunk/10").value["turns"] == 0
        dead = {"job": "facts", "key": "s", "created": MONDAY, "state": "dead"}
        tasks = tuple(Task(id=f"facts/{who}/s", scope=who, **dead) for who in ("anna", "ben"))
        running.page.memory.apply("test", WriteBatch(tasks=tasks))
        assert client.done("retry", task="facts/anna/s") == {"tasks": 0}
        assert client.done("retry") == {"tasks": 1}


def test_everyone_is_shown_only_when_asked_for(tmp_path: Path) -> None:
    config = configured(tmp_path / "memory", people={"scopes": "each"})
    with page_of(config, person="ben", everyone=True) as running:
        client = entered(running)
        assert client.read("start")["scopes"] == ["anna", "ben"]
        assert client.read("know/facts?scope=anna")["rows"]


def test_the_browser_is_opened_by_a_private_file_that_goes(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    opened: list[str] = []
    with ExitStack() as stack:
        file = stack.enter_context(private_link("http://127.0.0.1:9/?token=secret"))
        assert "token=secret" in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert open_browser(file, lambda address: not opened.append(address))
    assert opened == [file.as_uri()]
    assert "secret" not in opened[0]
    assert list(tmp_path.iterdir()) == []
