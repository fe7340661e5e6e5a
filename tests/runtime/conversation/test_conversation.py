"""Which scope each utterance is logged in, on and off the record."""

import pytest

from tests.support.conversations import Room


@pytest.fixture
def room() -> Room:
    return Room()


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
