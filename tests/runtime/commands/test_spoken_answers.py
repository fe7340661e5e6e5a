"""What commands answer aloud, and those of two people at once."""

import contextlib
from datetime import timedelta

import pytest
from msgspec.structs import replace

from slowcat_memory.core.commands.grammar import Heard
from slowcat_memory.core.memory import chunk_id
from slowcat_memory.engine import MemoryEngine
from slowcat_memory.records import Forget, Made, Memory, Statement, WriteBatch
from slowcat_memory.runtime.commands.executor import CommandContext
from slowcat_memory.testing import FixedClock, HashEmbedder, memory_config
from tests.support.conversations import Room
from tests.support.engine_talks import NOW, offer, talk
from tests.support.memories import Look, residue
from tests.support.said import memory_at, turn_at

# ------------------------------------------------------------------- what spoken answers read from the memory: for whom, and where the LLM is that he

SECRET = "Zqxsecret"


def order(engine, text: str, llm: str = "remote", scope: str = "anna"):
    command = Heard(text).command()
    assert command is not None, text
    id_ = engine.append(turn_at(text, engine.clock(), scope=scope, aside=True)).id
    context = CommandContext(scope=scope, speaker="Anna", session="s", turn=id_, llm=llm)
    return engine.carry_out(command, context)


@pytest.mark.parametrize(("llm", "there"), [("local", True), ("remote", False), ("unknown", False)])
@pytest.mark.parametrize("question", ["what do you know about me?", "why did you say that?"])
def test_spoken_answers_hold_local_only_memories_for_a_local_llm_alone(
    engine, question, llm, there
):
    asked = talk(engine, "I have a bank pin, and what is it?", "Let me think.")[0]
    note = engine.remember(f"My bank pin is {SECRET}.", "anna", local_only=True)
    other = engine.remember("My bank is in Graz.", "anna")
    offer(engine, asked, note.id, other.id)
    said = order(engine, question, llm).said
    assert (SECRET in said, "Graz" in said) == (there, True)


def test_spoken_answers_name_no_internal_records(engine):
    turn = talk(engine, "My dog is called Max, you know.", "Nice.")[0]
    one = memory_at("", "internal", NOW, sources=(turn,), made=Made(job="test"))
    kinds = ("reading", "entity/person", "block/human", "summary/day", "episode")
    rows = [replace(one, id=f"{kind}/x", kind=kind) for kind in kinds]
    rows.append(replace(one, id="fact/1", kind="fact/pet", text="Anna has a dog called Max."))
    engine.apply("test", WriteBatch(memories=tuple(rows)))
    said = order(engine, "what do you know about me?").said
    assert "internal" not in said and "Anna has a dog called Max" in said
    assert said == "I know 1 fact about you: “Anna has a dog called Max”."


@pytest.mark.parametrize("of", ["note", "turn"])
def test_spoken_answers_a_correction_of_a_local_only_memory_is_local_only(engine, of):
    if of == "note":
        memory = engine.remember(f"My bank pin is 4711 {SECRET}.", "anna", local_only=True)
    else:
        told = talk(engine, f"My bank pin is 4711 {SECRET}.", "Noted.")[0]
        memory = engine.edit("anna", chunk_id(told), local_only=True)
    asked = talk(engine, "What is my bank pin?", f"It is 4711 {SECRET}.")[0]
    assert memory is not None
    offer(engine, asked, memory.id)
    order(engine, f"that's wrong, it's 4712 {SECRET}", "local")
    engine.flush(indexed=True)
    notes = [m for m in Look(engine).memories("anna", "note/") if not m.retired_at]
    corrections = [note for note in notes if "4712" in note.text]
    assert corrections and all(note.local_only for note in corrections)
    remote = engine.search("bank pin", "anna", 20).hits
    assert all("4712" not in hit.memory.text for hit in remote)


def test_spoken_answers_mark_the_context_of_a_remote_llm_for_removal(engine):
    turns = talk(engine, f"My bank pin is {SECRET}.", "I see.")
    away = order(engine, "keep that between us")
    assert set(turns) <= set(away.turns)
    assert {chunk_id(turn) for turn in turns} <= set(away.memories)
    here = order(engine, "keep that between us", "local")
    assert here.done and not here.turns


def fact(text: str, **fields: object) -> Memory:
    """A fact that was said an hour ago, with the id of its first word."""
    given = {"valid_from": NOW - timedelta(hours=1), "importance": 0.5, **fields}
    id_ = f"fact/{text.split()[0].lower()}"
    return Memory(id=id_, kind="fact/person", scope="anna", speaker="Anna", text=text, **given)


def test_spoken_answers_of_what_is_known_begin_with_the_important_and_the_new(engine):
    rows = (
        fact("Old friends visit Anna.", valid_from=NOW - timedelta(days=9)),
        fact("Walks are liked by Anna.", importance=0.2),
        fact("New shoes belong to Anna."),
        fact("Allergies: Anna cannot eat nuts.", importance=0.9),
    )
    engine.apply("test", WriteBatch(memories=rows))
    said = order(engine, "what do you know about me?").said
    places = [said.index(word) for word in ("Allergies", "New shoes", "Old friends", "Walks")]
    assert said.startswith("I know 4 facts") and places == sorted(places)


def test_spoken_answers_of_what_is_known_leave_out_what_is_over_uncertain_or_said_twice(engine):
    over = NOW - timedelta(minutes=5)
    rows = (
        fact("Anna lives in Graz."),
        fact("Once Anna lived in Linz.", valid_to=over),
        fact("Former tea was liked.", retired_at=over),
        fact("Jokes say that Anna owns a castle.", statement=Statement(confidence="low")),
        fact("Tomorrow Anna works at Bosch.", valid_from=NOW + timedelta(days=1)),
    )
    twice = replace(fact("Anna lives in Graz."), id="fact/again")
    engine.apply("test", WriteBatch(memories=(*rows, twice)))
    said = order(engine, "what do you know about me?").said
    assert said == "I know 1 fact about you: “Anna lives in Graz”."


# ------------------------------------------------------------------- an exchange of two persons, and a guest, is forgotten, brought back and kept loc

PIN = "zqxpin"


class Home(Room):
    """Two people, a guest and an agent, over a store."""

    def __init__(self, path) -> None:
        people = {"scopes": "each", "household": "home"}
        self.config = memory_config(path, people=people, recall={"floor": 0.0})
        clock = FixedClock()
        self.engine = MemoryEngine(self.config, clock=clock, embedder=HashEmbedder())
        super().__init__(append=self.engine.append, clock=clock)

    def say(self, *parts: tuple[str, str], **how):
        turns = super().say(*parts, **how)
        self.engine.flush(indexed=True)
        return turns

    def order(self, voice: str, words: str):
        (turn,) = self.say((voice, words), aside=True)
        where = CommandContext(
            scope=turn.scope, speaker=turn.speaker, session=turn.session, turn=turn.id
        )
        return self.engine.carry_out(Heard(words).command(), where)

    def found(self, scope: str, words: str) -> list[str]:
        self.engine.flush(indexed=True)
        hits = self.engine.search(words, scope, 9, local=True).hits
        return [hit.memory.text for hit in hits if words in hit.memory.text]

    def texts(self, scope: str) -> list[str]:
        return [turn.text for turn in Look(self.engine.store).turns(scope)]

    def later(self) -> None:
        self.clock.advance(3600)
        self.engine.upkeep.erase_due()


@pytest.fixture
def room(tmp_path):
    room = Home(tmp_path / "memory")
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
    assert not residue(room.config.folder, PIN) and not residue(room.config.folder, "note my code")
    assert "my bicycle is red" in room.texts("ben") and "good morning" in room.texts("anna")


def test_two_persons_undo_brings_it_back_for_both(room):
    room.say(*BOTH, reply=f"Noted, {PIN}.")
    room.order("s1", "forget that")
    assert not room.order("s2", "undo that").done, "not Ben's to undo"
    assert room.order("s1", "undo that").done
    assert room.found("anna", PIN) == [f"Noted, {PIN}."] and len(room.found("ben", PIN)) == 2
    room.later()
    assert residue(room.config.folder, PIN)


def test_two_persons_keep_local_holds_for_both(room):
    room.say(*BOTH, reply=f"Noted, {PIN}.")
    assert room.order("s1", "keep that on this machine").done
    for scope in ("anna", "ben"):
        hits = room.engine.search(PIN, scope, 9, local=False).hits
        assert not [hit for hit in hits if PIN in hit.memory.text]


@pytest.mark.parametrize("how", ["turn", "memory", "session", "speaker"])
def test_two_persons_copy_of_a_reply_is_forgotten_with_it(room, how):
    turns = room.say(("s1", "please note my code"), ("s2", "yes"), reply=f"Noted, {PIN}.")
    replies = [t for t in Look(room.engine.store).turns() if PIN in t.text]
    assert [t.scope for t in replies] == ["anna", "ben"]
    order = {
        "turn": Forget(turns=(replies[0].id,)),
        "memory": Forget(scope="ben", memories=(f"chunk/{replies[1].id}",)),
        "session": Forget(session=replies[0].session),
        "speaker": Forget(scope="anna", speaker="Cat"),
    }[how]
    room.engine.forget(order)
    assert not residue(room.config.folder, PIN) and "yes" in room.texts("ben") and turns


def test_two_persons_retention_of_a_guest_takes_nothing_of_another(room):
    room.say(("s1", "hello"), ("eve", "hi"), reply=f"Hello both, {PIN}.")
    room.clock.advance(25 * 3600)
    room.engine.upkeep.erase_expired()
    assert not room.texts("guest") and f"Hello both, {PIN}." in room.texts("anna")
