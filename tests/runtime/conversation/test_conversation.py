"""Which scope each utterance is logged in, on and off the record."""

import pytest

from slowcat_memory.runtime.conversation import conversation
from tests.support.conversations import Room


@pytest.fixture
def room() -> Room:
    return Room()


def test_conversation_each_to_their_own(room: Room) -> None:
    room.say(("s1", "my pin is lost"), reply="Oh no.")
    room.say(("s2", "good morning"), reply="Good morning, Ben.")
    assert room.said == [
        ("anna", "Anna", "my pin is lost"),
        ("anna", "Cat", "Oh no."),
        ("ben", "Ben", "good morning"),
        ("ben", "Cat", "Good morning, Ben."),
    ]
    turns = room.log.turns
    assert [turn.reply_to for turn in turns] == [0, turns[0].id, 0, turns[2].id]
    assert {turn.session for turn in turns} == {"anna 120000", "ben 120000"}


def test_conversation_several_people_in_one_turn_are_told_apart_and_all_are_answered(
    room: Room,
) -> None:
    room.say(("s1", "where are"), ("s1", "my keys"), ("s2", "and mine"), reply="On the table.")
    assert room.said == [
        ("anna", "Anna", "where are my keys"),
        ("ben", "Ben", "and mine"),
        ("anna", "Cat", "On the table."),
        ("ben", "Cat", "On the table."),
    ]
    assert room.talk.scopes == ("anna", "ben")


def test_conversation_who_a_turn_that_may_be_withdrawn_is_of(room: Room) -> None:
    room.say(("s1", "hello"))
    room.talk.heard("s2", "what time is it")
    assert room.talk.scopes_of("what time is it") == ("ben",)
    assert room.talk.scopes == ("anna",)
    room.say(("s2", "now"))
    assert room.talk.scopes == ("ben",)


def test_conversation_reply_that_comes_late_goes_to_whom_it_answers(room: Room) -> None:
    room.say(("s1", "tell me a story"))
    room.talk.agent_begins()
    room.say(("s2", "stop"))
    room.talk.agent_said("Once upon", interrupted=True)
    room.reply("Yes, Ben?")
    assert [scope for scope, _, _ in room.said] == ["anna", "ben", "anna", "ben"]


def test_conversation_what_was_said_before_is_ones_own(room: Room) -> None:
    room.say(("s1", "alpha"), reply="beta")
    room.say(("s2", "gamma"))
    assert [said.text for said in room.talk.before(None)] == ["gamma"]
    room.say(("s1", "delta"), ("s2", "epsilon"))
    assert room.talk.before(None) == []


def test_conversation_who_is_silent_is_not_kept_awake_by_others(room: Room) -> None:
    room.say(("s1", "hello"))
    for _ in range(4):
        room.wait(100)
        room.say(("s2", "and then"))
        room.talk.touch()
        room.talk.tick()
    ends = [(e.scope, e.reason) for e in room.log if getattr(e, "kind", "") == "end"]
    assert ends == [("anna", "silence")]


# ------------------------------------------------------------------- off the record


def test_conversation_off_the_record_nothing_is_logged(room: Room) -> None:
    room.say(("s1", "before"), reply="Noted.")
    logged = list(room.log)
    room.off_record.begin()
    room.say(("s1", "between us"), reply="Of course.")
    room.talk.user_said("typed")
    assert list(room.log) == logged and room.talk.before(None)[-1].text == "Noted."
    room.off_record.end()
    room.say(("s1", "after"), reply="Yes.")
    assert [text for _, _, text in room.said] == ["before", "Noted.", "after", "Yes."]


def test_conversation_reply_to_what_was_off_the_record_is_off_the_record(room: Room) -> None:
    room.off_record.begin()
    room.say(("s1", "between us"))
    room.off_record.end()
    assert room.reply("About what is between us") is None
    room.say(("s1", "on again"))
    room.talk.agent_begins()
    room.off_record.begin()
    assert room.talk.agent_said("Hm", interrupted=False) is None
    assert [text for _, _, text in room.said] == ["on again"]


def test_conversation_turn_of_which_a_part_was_off_the_record_is_not_kept(room: Room) -> None:
    room.off_record.begin()
    room.talk.heard("s1", "the secret is")
    room.off_record.end()
    room.talk.heard("s1", "never mind")
    room.talk.user_said("the secret is never mind")
    assert room.log == []
    room.say(("s1", "the secret is out"))  # said anew, on the record
    assert len(room.said) == 1


def test_conversation_a_turn_is_divided_once_and_anew_when_more_was_heard(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided, split = list[str](), conversation.split
    monkeypatch.setattr(
        conversation, "split", lambda text, *rest: divided.append(text) or split(text, *rest)
    )
    room.talk.heard("s1", "where are my keys")
    assert room.talk.scopes_of("where are my keys", "voice") == ("anna",)
    room.talk.user_said("where are my keys", "voice")
    assert divided == ["where are my keys"]
    room.talk.heard("s1", "and mine")
    assert room.talk.scopes_of("and mine", "voice") == ("anna",)
    room.talk.heard("s2", "and mine")
    assert room.talk.scopes_of("and mine", "voice") == ("ben",)
    room.talk.user_said("and mine", "voice")
    assert room.said[-1] == ("ben", "Ben", "and mine")
    assert divided == ["where are my keys", "and mine", "and mine"]
