"""Each connection ends for both sides, and what goes over it is neither cut nor kept for ever."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.owner import callbacks, channel, client, paused
from slowcat_memory.owner.client import CALLS
from slowcat_memory.owner.member import Member
from slowcat_memory.owner.numbers import FIRST_ID, Numbers
from slowcat_memory.owner.protocol import messages, verbs
from slowcat_memory.owner.protocol.messages import CALLS_LIMIT
from slowcat_memory.owner.serving import ahead, client_session
from slowcat_memory.records import Forget, MemoryEvent
from slowcat_memory.testing import memory_config
from tests.owner.test_clients import Raw, append, said
from tests.owner.test_giving_up import until
from tests.support.owner_process import OwnerProcess, role, stopped
from tests.support.said import turn_at

WAIT_S = 30.0
SEARCH = msgspec.Raw(verbs.verb("search").encode_arguments("word", "anna"))


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[tuple[OwnerProcess, Member]]:
    """An owner in a process of its own, and a client of it here."""
    with OwnerProcess(tmp_path / "memory") as other:
        member = Member(memory_config(tmp_path / "memory"), name="client")
        member.start(WAIT_S)
        try:
            yield other, member
        finally:
            member.release()


def long_turn(owner: Member) -> None:
    """Store what makes each answer to ``SEARCH`` some kilobytes."""
    owner.append(turn_at("word " * 800)).wait(WAIT_S)
    assert owner.flush(WAIT_S, indexed=True)


# ------------------------------------------------------------------- the owner's side


def test_connections_an_owner_that_closes_leaves_nobody_connected(owner: Member) -> None:
    """One that reads nothing, and one that has not spoken, would wait for it for ever."""
    long_turn(owner)
    server = owner.server
    assert server is not None
    raw = Raw(owner)
    raw.send(*(messages.Call(-n, "search", SEARCH) for n in range(1, 60)))
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.settimeout(WAIT_S)
    silent.connect(str(server.where))

    def unread() -> int:
        found = [one._transport for one in tuple(server.connections) if one.client == "raw"]
        return found[0].get_write_buffer_size() if found and found[0] else 0

    assert until(lambda: unread() > 0 and len(server.connections) == 2)
    with paused(owner.config.folder):
        assert silent.recv(1) == b""
        assert len(list(raw.received)) < 60, "it ended"
    silent.close()
    raw.socket.close()


def test_connections_one_that_says_nothing_is_dropped(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert owner.server is not None
    monkeypatch.setattr(client_session, "HELLO_S", 0.0)
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.settimeout(WAIT_S)
    silent.connect(str(owner.server.where))
    assert silent.recv(1) == b""
    silent.close()


@pytest.mark.parametrize(
    "sent",
    [
        messages.Hello(1, "0", "raw", "raw", 1),
        messages.Subscribe(("on_nothing",)),
        messages.Ahead(1, messages.Asked(text="x", scope="No Scope!", now=turn_at("").at)),
    ],
    ids=["Hello again", "no such callback", "no scope"],
)
def test_connections_what_makes_no_sense_harms_nobody_else(
    owner: Member, sent: messages.Message
) -> None:
    raw, other = Raw(owner), Raw(owner, "other")
    raw.next(messages.Welcome)
    raw.send(sent)
    other.send(append(1, "the boat is blue"))
    assert other.next(messages.Acked).first > 0
    assert owner.server is not None and owner.server._thread.is_alive()


def test_connections_one_that_was_refused_is_not_heard(owner: Member) -> None:
    raw = Raw(owner, protocol=99)
    raw.send(messages.Hello(1, "0", "raw", "raw", 1), append(1, "the boat is blue"))
    assert raw.next(messages.Refused) and raw.is_dropped()
    assert said(owner) == []


def test_connections_a_large_answer_reaches_a_client_that_reads(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_session, "UNREAD_LIMIT", 1024)
    raw = Raw(owner)
    assert owner.engine is not None
    monkeypatch.setattr(owner.engine, "stats", lambda: {"large": "x" * (4 << 20)})
    raw.send(messages.Call(-1, "stats", msgspec.Raw(verbs.verb("stats").encode_arguments())))
    assert len(raw.next(messages.Answer).result) > 4 << 20


def test_connections_recalls_of_one_client_are_bounded(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_session, "CALLS_LIMIT", 1)
    monkeypatch.setattr(ahead, "BEGUN", 2)
    assert owner.server is not None
    asked = messages.Asked(text="where is the violin?", scope="anna", now=turn_at("").at)
    raw = Raw(owner)
    raw.send(*(messages.Ahead(n, asked) for n in range(1, 8)))
    raw.send(*(messages.Recall(n, asked) for n in range(11, 20)))
    left = set(range(11, 20))
    while left:
        left.discard(raw.next(messages.Recalled).number)
    (session,) = owner.server.connections
    assert len(session.recalls._attempts) <= 2


# ------------------------------------------------------------------- the client's side


def test_connections_much_that_waited_is_sent_on_one_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than may be unsent: a connection that ends for it would end each time."""
    monkeypatch.setattr(channel, "UNSENT_LIMIT", 1 << 16)
    folder = tmp_path / "memory"
    member = Member(memory_config(folder, owner={"mode": "client"}), name="client")
    try:
        acks = [member.append(turn_at(f"{n} " + "word " * 800)) for n in range(300)]
        with OwnerProcess(folder):
            member.start(WAIT_S)
            assert until(lambda: role(member) == "client")
            for ack in acks:
                ack.wait(WAIT_S)
            assert member.metrics.counts()["owners_met"] == 1
    finally:
        member.release()


def test_connections_a_slow_callback_does_not_keep_its_thread_for_ever(
    clients: tuple[OwnerProcess, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    other, member = clients
    monkeypatch.setattr(callbacks, "LIMIT", 1)
    slow = Member(member.config, name="slow")
    slow.start(WAIT_S)
    begun, go_on = threading.Event(), threading.Event()

    def on_event(event: MemoryEvent) -> None:
        begun.set()
        assert go_on.wait(WAIT_S)

    slow.subscribe(on_event=on_event)
    slow.stats()  # the subscription has arrived
    other.call("say", "one", "two", "three", "four")
    assert begun.wait(WAIT_S)
    assert until(lambda: slow.metrics.counts().get("events_dropped", 0) >= 1)
    slow.release()
    go_on.set()
    thread = slow._callbacks._thread
    assert thread is not None and until(lambda: not thread.is_alive())


def test_connections_many_threads_wait_their_turn(
    clients: tuple[OwnerProcess, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ANSWER_S", WAIT_S)
    other, member = clients
    remote, found = member._life.remote, list[object]()
    assert remote is not None
    with stopped(other.process.pid):
        threads = [
            threading.Thread(target=lambda: found.append(member.search("boat", "anna")))
            for _ in range(CALLS_LIMIT + 16)
        ]
        for thread in threads:
            thread.start()
        assert until(lambda: len(remote._calls) == CALLS)
    for thread in threads:
        thread.join(WAIT_S)
    assert len(found) == len(threads) and not remote._calls


def test_connections_a_flush_waits_no_longer_than_it_says(
    clients: tuple[OwnerProcess, Member],
) -> None:
    other, member = clients
    member.append(turn_at("the boat is blue")).wait(WAIT_S)
    with stopped(other.process.pid):
        assert not member.flush(0.01)
    assert member.flush(WAIT_S)
    assert member._life.remote is not None and not member._life.remote._calls


def test_connections_a_flush_goes_on_with_the_next_owner(
    clients: tuple[OwnerProcess, Member],
) -> None:
    other, member = clients
    done: list[bool] = []
    with stopped(other.process.pid):
        remote = member._life.remote
        assert remote is not None
        thread = threading.Thread(target=lambda: done.append(member.flush(WAIT_S)))
        thread.start()
        assert until(lambda: bool(remote._calls))
        other.process.kill()
    thread.join(WAIT_S)
    assert done == [True], "all that was acknowledged is durable"


def test_connections_a_call_that_the_owner_did_not_answer_goes_to_the_next_one(
    clients: tuple[OwnerProcess, Member],
) -> None:
    other, member = clients
    remote, lost, go_on = member._life.remote, threading.Event(), threading.Event()
    assert remote is not None
    tell, found = remote._on_lost, list[object]()

    def tell_late(to: str) -> None:
        lost.set()
        assert go_on.wait(WAIT_S)
        tell(to)

    remote._on_lost = tell_late
    other.kill()
    assert lost.wait(WAIT_S)
    thread = threading.Thread(target=lambda: found.append(member.search("boat", "anna")))
    thread.start()
    assert until(lambda: bool(remote._calls)), "it waits for the next owner"
    go_on.set()
    thread.join(WAIT_S)
    assert len(found) == 1 and role(member) == "owner"


def test_connections_a_turn_is_named_by_the_id_it_had_before_it_was_logged(
    clients: tuple[OwnerProcess, Member],
) -> None:
    _, member = clients
    ack = member.append(turn_at("the violin is in the attic"))
    assert ack.event is not None
    before = ack.event.id
    assert before < 0
    marked = member.mark("anna", chunk_id(before), pinned=True)
    assert marked is not None and marked.id == chunk_id(ack.id) and marked.pinned
    assert member.forget(Forget(turns=(before,)), dry_run=True).turns == (ack.id,)
    gone = member.forget(Forget(memories=(chunk_id(before),)))
    assert gone.turns == (ack.id,) and said(member) == []


def test_connections_turns_of_a_dialogue_are_named_by_their_ids_in_the_log() -> None:
    numbers, at = Numbers(), turn_at("").at
    numbers.record([msgspec.structs.replace(turn_at("hello"), id=FIRST_ID)], 7)
    turns = [DialogueTurn("a", at, chunk_id(FIRST_ID)), DialogueTurn("b", at, "note/-x")]
    assert [one.memory for one in numbers.logged_known({"dialogue": turns})["dialogue"]] == [
        "chunk/7",
        "note/-x",
    ]
