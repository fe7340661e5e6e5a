"""What an owner does for its clients, and what no client can do to it."""

import asyncio
import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from slowcat_memory.core.memory import chunk_id
from slowcat_memory.core.query.understand import DialogueTurn
from slowcat_memory.owner.member import Member
from slowcat_memory.owner.numbers import FIRST_ID
from slowcat_memory.owner.protocol import messages, verbs
from slowcat_memory.owner.protocol.messages import Append, Hello, from_owner
from slowcat_memory.owner.protocol.wire import LARGEST_FRAME, PROTOCOL, FrameBuffer, framed
from slowcat_memory.owner.serving import client_session
from slowcat_memory.owner.serving.intake import Intake
from slowcat_memory.records import MemoryEvent, SessionEdge
from slowcat_memory.testing import memory_config
from tests.owner.test_giving_up import until
from tests.support.owner_process import OwnerProcess, role, stopped
from tests.support.said import turn_at

WAIT_S = 30.0


class Raw:
    """A client that sends what it likes."""

    def __init__(self, owner: Member, client: str = "raw", protocol: int = PROTOCOL) -> None:
        assert owner.server is not None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(WAIT_S)
        self.socket.connect(str(owner.server.where))
        self.received: Iterator[Any] = self._messages()
        self.send(Hello(protocol, "0", client, "raw", os.getpid()))

    def send(self, *sent: messages.Message) -> None:
        with suppress(BrokenPipeError):  # it was refused before it could speak
            self.socket.sendall(b"".join(map(framed, sent)))

    def _messages(self) -> Iterator[Any]:
        buffer = FrameBuffer()
        with suppress(ConnectionResetError):  # it was dropped before it was heard to the end
            while data := self.socket.recv(1 << 16):
                yield from map(from_owner.decode, buffer.feed(data))

    def next(self, kind: type) -> Any:
        """Return the next message of a kind."""
        return next(message for message in self.received if isinstance(message, kind))

    def is_dropped(self) -> bool:
        return not list(self.received)


def append(counter: int, *texts: str, floor: int = 1) -> Append:
    events = tuple(
        msgspec.structs.replace(turn_at(text), id=FIRST_ID + counter * 100 + n)
        for n, text in enumerate(texts)
    )
    return Append(counter, floor, events)


def said(owner: Member) -> list[str]:
    with owner.snapshot() as snapshot:
        return [turn.text for turn in snapshot.turns("anna")]


# ------------------------------------------------------------------- who may come in


def test_clients_the_socket_is_for_this_user_alone_and_its_path_is_short(owner: Member) -> None:
    assert owner.server is not None
    where = owner.server.where
    assert stat.S_IMODE(where.stat().st_mode) == 0o600 and len(os.fsencode(where)) < 108
    assert stat.S_IMODE(where.parent.stat().st_mode) == 0o700


def test_clients_another_users_program_is_refused(owner: Member) -> None:
    assert owner.server is not None
    owner.server.uid += 1  # as it looks to another user's owner
    assert Raw(owner).next(messages.Refused).reason


def test_clients_another_protocol_is_refused_with_what_to_restart(owner: Member) -> None:
    refused = Raw(owner, protocol=PROTOCOL + 1).next(messages.Refused)
    assert f"Restart process {os.getpid()}" in refused.hint


# ------------------------------------------------------------------- appends


def test_clients_what_is_sent_again_is_saved_once_also_by_the_next_owner(owner: Member) -> None:
    one, two = append(1, "the violin is in the attic"), append(2, "the boat is blue")
    raw = Raw(owner)
    raw.send(one, two, one)
    first = {raw.next(messages.Acked) for _ in range(3)}
    assert len(first) == 2
    again = Raw(owner)  # the same client, on another connection
    again.send(one, two)
    assert {again.next(messages.Acked) for _ in range(2)} == first
    assert owner.engine is not None
    heir = Intake(owner.engine, "raw")  # knows nothing but the store
    assert {(n, heir.accept(sent)[0]) for n, sent in ((1, one), (2, two))} == {
        (acked.counter, acked.first) for acked in first
    }
    assert said(owner) == ["the violin is in the attic", "the boat is blue"]


def test_clients_an_event_that_cannot_be_saved_fails_alone(owner: Member) -> None:
    lone = append(2, "lone \udfff surrogate")
    nobody = Append(3, 1, (SessionEdge(session="s", scope="No Scope!", kind="start",
                                       at=turn_at("").at, id=FIRST_ID + 300),))  # fmt: skip
    turn = append(4, "x").events[0]
    long = msgspec.structs.replace(turn, session="s" * 4000)
    zoneless = msgspec.structs.replace(turn, at=turn.at.replace(tzinfo=None))
    raw = Raw(owner)
    raw.send(append(1, "the violin is in the attic"), nobody, Append(4, 1, (long,)),
             append(5, "the boat is blue"), Append(6, 1, (zoneless,)))  # fmt: skip
    settled = [raw.next(messages.Acked | messages.NotSaved) for _ in range(5)]  # type: ignore[arg-type]
    failed = {one.counter for one in settled if isinstance(one, messages.NotSaved)}
    assert failed == {3, 4, 6} and said(owner) == ["the violin is in the attic", "the boat is blue"]
    assert owner.engine is not None
    heir = Intake(owner.engine, "raw")
    assert heir.accept(append(5, "the boat is blue"))[0] > 0
    with pytest.raises(UnicodeError):
        framed(lone)


def test_clients_a_text_that_cannot_be_sent_fails_alone(tmp_path: Path) -> None:
    with OwnerProcess(tmp_path / "memory"):
        client = Member(memory_config(tmp_path / "memory"), name="client")
        client.start(WAIT_S)
        try:
            bad = client.append(turn_at("lone \udfff surrogate"))
            good = client.append(turn_at("the boat is blue"))
            good.wait(WAIT_S)
            assert bad.future.exception(WAIT_S) and said(client) == ["the boat is blue"]
        finally:
            client.release()


# ------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "sent",
    [
        (LARGEST_FRAME + 1).to_bytes(4, "big"),
        b"\x00\x00\x00\x03abc",
        framed(messages.Welcome(1, "", 1)),
    ],
    ids=["too large", "no message", "an owner's message"],
)
def test_clients_what_is_no_message_costs_the_client_its_connection(
    owner: Member, sent: bytes
) -> None:
    raw, other = Raw(owner), Raw(owner, "other")
    raw.next(messages.Welcome)
    raw.socket.sendall(sent)
    assert raw.is_dropped()
    other.send(append(1, "the boat is blue"))
    assert other.next(messages.Acked).first > 0


def test_clients_one_that_does_not_read_is_dropped(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_session, "UNREAD_LIMIT", 1 << 16)
    owner.append(turn_at("word " * 800)).wait(WAIT_S)
    assert owner.flush(WAIT_S, indexed=True)
    raw = Raw(owner)
    arguments = msgspec.Raw(verbs.verb("search").encode_arguments("word", "anna"))
    raw.send(*(messages.Call(-n, "search", arguments) for n in range(1, 60)))
    raw.socket.settimeout(WAIT_S)
    assert until(lambda: owner.metrics.counts().get("clients_dropped", 0) == 1)


def test_clients_one_that_sends_too_fast_is_read_more_slowly_and_loses_nothing(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_session, "BURST", 50.0)
    monkeypatch.setattr(client_session, "RATE", 500.0)
    raw = Raw(owner)
    raw.send(*(append(n, f"number {n}", floor=n) for n in range(1, 201)))
    for _ in range(200):
        raw.next(messages.Acked)
    assert said(owner) == [f"number {n}" for n in range(1, 201)]


def test_clients_too_many_calls_at_a_time_are_refused_by_name(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_session, "CALLS_LIMIT", 1)
    hold = threading.Event()
    assert owner.engine is not None
    monkeypatch.setattr(owner.engine, "stats", lambda: hold.wait(WAIT_S) and {})
    raw = Raw(owner)
    arguments = msgspec.Raw(verbs.verb("stats").encode_arguments())
    raw.send(messages.Call(-1, "stats", arguments), messages.Call(-2, "stats", arguments))
    refused = raw.next(messages.Failed)
    hold.set()
    assert refused.number == -2 and "too many calls" in refused.error.message
    assert raw.next(messages.Answer).number == -1


# ------------------------------------------------------------------- who speaks


def test_clients_idle_work_waits_while_a_client_is_busy_and_goes_on_after_it_is_lost(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slowcat_memory.owner.serving.owner_server.GRACE_S", 0.0)
    assert owner.engine is not None
    gate = owner.engine.idle.gate

    def busy() -> bool:
        return "raw/kitchen" in str(vars(gate))

    raw = Raw(owner)
    raw.send(messages.Activity("kitchen/user speaks", busy=True))
    assert until(busy)
    raw.socket.close()
    raw.received = iter(())
    assert until(lambda: not busy())


def test_clients_events_reach_callbacks_that_call_the_memory(tmp_path: Path) -> None:
    with OwnerProcess(tmp_path / "memory") as other:
        client = Member(memory_config(tmp_path / "memory"), name="client")
        client.start(WAIT_S)
        heard: list[MemoryEvent] = []
        found = threading.Event()

        def on_event(event: MemoryEvent) -> None:
            heard.append(event)
            client.search("boat", "anna")  # would wait for ever on the connection's own thread
            found.set()

        try:
            end = client.subscribe(on_event=on_event)
            client.stats()  # the subscription has arrived
            other.call("say", "the boat is blue")
            assert found.wait(WAIT_S) and heard[0].what == "stored" and heard[0].scope == "anna"
            end()
        finally:
            client.release()


# ------------------------------------------------------------------- an owner that does not answer


def test_clients_a_stopped_owner_costs_a_turn_its_deadline_and_nothing_else(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as other:
        other.call("say", "the violin is in the attic")
        client = Member(
            memory_config(folder, recall={"deadline_ms": 30.0, "settle_ms": 5.0}), name="client"
        )
        client.prepare("anna")
        client.start(WAIT_S)
        try:
            with stopped(other.process.pid):
                found = asyncio.run(client.recall("where is the violin?", "anna"))
                ack = client.append(turn_at("the boat is blue"))
                assert found.stage == "none" and not ack.done()
                assert client.metrics.counts()["owner_late"] == 1
            ack.wait(WAIT_S)
            assert ack.id > 1 and role(client) == "client"
        finally:
            client.release()


# ------------------------------------------------------------------- ahead of a turn


def test_clients_a_foreseen_turn_is_answered_from_the_clients_memory(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with OwnerProcess(folder) as other:
        other.call("say", "the violin is in the attic")
        client = Member(memory_config(folder), name="client")
        client.prepare("anna")
        client.start(WAIT_S)
        try:
            assert asyncio.run(_foreseen(client, other.process.pid)) == [
                "the violin is in the attic"
            ]
            assert client.metrics.counts()["prefetch_stood"] == 1
            asyncio.run(_outdated(client, lambda: other.call("say", "my violin is in Rome")))
            assert client.metrics.counts()["prefetch_stood"] == 1, "it was not used"
        finally:
            client.release()


ASKED = "where is the violin?"


def _query(client: Member) -> Callable[[str], Any]:
    from slowcat_memory.engine.turns import build_query

    now = client.clock()
    dialogue = (DialogueTurn("hello", now),)
    return lambda text: build_query(client.config, now, text, "anna", dialogue=dialogue)


async def _foreseen(client: Member, owner: int) -> list[str]:
    ask = _query(client)
    prefetch = client.prefetch(ask)
    prefetch.hear(ASKED, whole=True)
    attempt: Any = prefetch.attempt
    await asyncio.wait_for(asyncio.wrap_future(attempt.arrived), WAIT_S)
    with stopped(owner):  # nothing can come from there
        known = {"dialogue": ask("").dialogue, "now": ask("").now}
        found = await client.recall(ASKED, "anna", prefetch=prefetch, **known)  # type: ignore[arg-type]
    return [hit.memory.text for hit in found.hits]


async def _outdated(client: Member, change: Callable[[], Any]) -> None:
    prefetch = client.prefetch(_query(client))
    prefetch.hear(ASKED, whole=True)
    attempt: Any = prefetch.attempt
    await asyncio.wait_for(asyncio.wrap_future(attempt.arrived), WAIT_S)
    await asyncio.to_thread(change)
    await asyncio.to_thread(until, lambda: attempt.stale)
    found = await client.recall(ASKED, "anna", prefetch=prefetch)
    assert "my violin is in Rome" in [hit.memory.text for hit in found.hits]


def test_owner_a_client_turns_name_each_other_by_their_ids_in_the_log(tmp_path: Path) -> None:
    """The parts of a turn, a reply and its copy, and what a reply was made of."""
    with OwnerProcess(tmp_path / "memory"):
        member = Member(memory_config(tmp_path / "memory"), name="client")
        member.start(WAIT_S)
        try:
            one = member.append(turn_at("please note my code")).event
            two = member.append(replace(turn_at("it is blue", scope="ben"), part_of=one.id)).event
            made = replace(
                turn_at("Noted."),
                role="assistant",
                reply_to=one.id,
                local_only=True,
                derived_from=(("anna", chunk_id(one.id)), ("anna", "note/1")),
            )
            reply = member.append(made).event
            copy = replace(made, scope="ben", reply_to=two.id, part_of=reply.id)
            member.append(copy).wait(WAIT_S)
            with member.snapshot() as snapshot:
                logged = {turn.id: turn for turn in snapshot.turns()}
        finally:
            member.release()
    first, second, third, fourth = sorted(logged)
    assert logged[second].part_of == first and logged[third].reply_to == first
    assert (logged[fourth].part_of, logged[fourth].reply_to) == (third, second)
    assert logged[third].derived_from == (("anna", chunk_id(first)), ("anna", "note/1"))
