"""An exchange of two persons, and a guest, is forgotten, brought back and kept local for both."""

import contextlib

import pytest

from slowcat_memory.core.commands.grammar import recognise
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget
from slowcat_memory.runtime.commands.executor import CommandContext
from slowcat_memory.runtime.conversation.audience import Audience
from slowcat_memory.runtime.conversation.conversation import Conversation, Names
from slowcat_memory.runtime.conversation.session_tracker import OffRecord, SessionTracker
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config

VOICES = {"s1": "anna", "s2": "ben"}
PIN = "zqxpin"


class Room:
    """Two people, a guest and an agent, over a store."""

    def __init__(self, path) -> None:
        self.clock = FixedClock()
        self.config = memory_config(
            path, people={"scopes": "each", "household": "home"}, recall={"floor": 0.0}
        )
        self.open()

    def open(self) -> None:
        self.engine = MemoryEngine(self.config, clock=self.clock, embedder=HashEmbedder())
        audience = Audience(self.config.people, "anna", VOICES)
        options = self.config.sessions
        scopes = (*audience.people, audience.guest)
        self.talk = Conversation(
            audience,
            [SessionTracker(s, lambda now, s=s: f"{s}-1", options) for s in scopes],
            self.engine.append,
            Names("User", "Cat", VOICES),
            OffRecord(options, lambda off: None),
            self.clock,
        )

    def say(self, *parts: tuple[str, str], reply: str = "", aside: bool = False):
        for voice, words in parts:
            self.talk.heard(voice, words)
        turns = self.talk.user_said(" ".join(words for _, words in parts), aside=aside)
        if reply:
            self.talk.agent_begins()
            self.talk.agent_said(reply, interrupted=False)
        self.engine.flush(indexed=True)
        return turns

    def order(self, voice: str, words: str):
        (turn,) = self.say((voice, words), aside=True)
        where = CommandContext(
            scope=turn.scope, speaker=turn.speaker, session=turn.session, turn=turn.id
        )
        return self.engine.carry_out(recognise(words), where)

    def found(self, scope: str, words: str) -> list[str]:
        self.engine.flush(indexed=True)
        hits = self.engine.search(words, scope, 9, local=True).hits
        return [hit.memory.text for hit in hits if words in hit.memory.text]

    def texts(self, scope: str) -> list[str]:
        with self.engine.store.snapshot() as snapshot:
            return [turn.text for turn in snapshot.turns(scope)]

    def residue(self, word: str) -> list[str]:
        files = [file for file in self.config.folder.rglob("*") if file.is_file()]
        return [file.name for file in files if word.encode() in file.read_bytes()]

    def later(self) -> None:
        self.clock.advance(3600)
        self.engine.eraser.erase_due()


@pytest.fixture
def room(tmp_path):
    room = Room(tmp_path / "memory")
    with contextlib.closing(room.engine):
        room.say(("s1", "good morning"), reply="Morning, Anna.")
        room.say(("s2", "my bicycle is red"), reply="Nice, Ben.")
        yield room


BOTH = (("s1", "please note my code"), ("s2", f"it is {PIN}"))


@pytest.mark.parametrize("who", ["s1", "s2"])
def test_two_persons_forget_that_forgets_the_exchange_of_both(room, who):
    room.say(*BOTH, reply=f"Noted, {PIN}.")
    assert room.found("anna", PIN) and room.found("ben", PIN)
    assert room.order(who, "forget that").done
    assert not room.found("anna", PIN) and not room.found("ben", PIN)
    room.later()
    assert not room.residue(PIN) and not room.residue("note my code")
    assert "my bicycle is red" in room.texts("ben") and "good morning" in room.texts("anna")


def test_two_persons_undo_brings_it_back_for_both(room):
    room.say(*BOTH, reply=f"Noted, {PIN}.")
    room.order("s1", "forget that")
    assert not room.order("s2", "undo that").done, "not Ben's to undo"
    assert room.order("s1", "undo that").done
    assert room.found("anna", PIN) == [f"Noted, {PIN}."] and len(room.found("ben", PIN)) == 2
    room.later()
    assert room.residue(PIN)


def test_two_persons_keep_local_holds_for_both(room):
    room.say(*BOTH, reply=f"Noted, {PIN}.")
    assert room.order("s1", "keep that on this machine").done
    for scope in ("anna", "ben"):
        hits = room.engine.search(PIN, scope, 9, local=False).hits
        assert not [hit for hit in hits if PIN in hit.memory.text]


@pytest.mark.parametrize("how", ["turn", "memory", "session", "speaker"])
def test_two_persons_copy_of_a_reply_is_forgotten_with_it(room, how):
    turns = room.say(("s1", "please note my code"), ("s2", "yes"), reply=f"Noted, {PIN}.")
    with room.engine.store.snapshot() as snapshot:
        replies = [t for t in snapshot.turns() if PIN in t.text]
    assert [t.scope for t in replies] == ["anna", "ben"]
    order = {
        "turn": Forget(turns=(replies[0].id,)),
        "memory": Forget(scope="ben", memories=(f"chunk/{replies[1].id}",)),
        "session": Forget(session=replies[0].session),
        "speaker": Forget(scope="anna", speaker="Cat"),
    }[how]
    room.engine.forget(order)
    assert not room.residue(PIN) and "yes" in room.texts("ben") and turns


def test_two_persons_retention_of_a_guest_takes_nothing_of_another(room):
    room.say(("s1", "hello"), ("eve", "hi"), reply=f"Hello both, {PIN}.")
    room.clock.advance(25 * 3600)
    room.engine.eraser.erase_expired()
    assert not room.texts("guest") and f"Hello both, {PIN}." in room.texts("anna")
