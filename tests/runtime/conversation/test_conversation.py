"""Whose a turn is, what it says, and who may read it."""

from typing import Any

import pytest

from slowcat_memory.core.text.normalize import KEEP_CHARS
from slowcat_memory.errors import ConfigError
from slowcat_memory.runtime.conversation.conversation import (
    Audience,
    PeopleOptions,
    Transcripts,
    Voice,
)
from tests.support.conversations import Log, Room
from tests.support.rows import each_listed

# ------------------------------------------------------------------- which scope each utterance is logged in, on and off the record


@pytest.fixture
def room() -> Room:
    return Room()


def test_conversation_who_a_turn_that_may_be_withdrawn_is_of(room):
    room.say(("s1", "hello"))
    room.talk.heard("s2", "what time is it")
    assert room.talk.scopes_of("what time is it") == ("ben",)
    assert room.talk.scopes == ("anna",)
    room.say(("s2", "now"))
    assert room.talk.scopes == ("ben",)


def test_conversation_reply_that_comes_late_goes_to_whom_it_answers(room):
    room.say(("s1", "tell me a story"))
    room.talk.agent_begins()
    room.say(("s2", "stop"))
    room.talk.agent_said("Once upon", interrupted=True)
    room.reply("Yes, Ben?")
    assert [scope for scope, _, _ in room.said] == ["anna", "ben", "anna", "ben"]


def test_conversation_what_was_said_before_is_ones_own(room):
    room.say(("s1", "alpha"), reply="beta")
    room.say(("s2", "gamma"))
    assert [said.text for said in room.talk.before(None)] == ["gamma"]
    room.say(("s1", "delta"), ("s2", "epsilon"))
    assert room.talk.before(None) == []


def test_conversation_who_is_silent_is_not_kept_awake_by_others(room):
    room.say(("s1", "hello"))
    for _ in range(4):
        room.wait(100)
        room.say(("s2", "and then"))
        room.talk.touch()
        room.talk.tick()
    ends = [(e.scope, e.reason) for e in room.log if getattr(e, "kind", "") == "end"]
    assert ends == [("anna", "silence")]


# ------------------------------------------------------------------- off the record


def test_conversation_reply_to_what_was_off_the_record_is_off_the_record(room):
    room.off_record.begin()
    room.say(("s1", "between us"))
    room.off_record.end()
    assert room.reply("About what is between us") is None
    room.say(("s1", "on again"))
    room.talk.agent_begins()
    room.off_record.begin()
    assert room.talk.agent_said("Hm", interrupted=False) is None
    assert [text for _, _, text in room.said] == ["on again"]


def test_conversation_turn_of_which_a_part_was_off_the_record_is_not_kept(room):
    room.off_record.begin()
    room.talk.heard("s1", "the secret is")
    room.off_record.end()
    room.talk.heard("s1", "never mind")
    room.talk.user_said("the secret is never mind")
    assert room.log == []
    room.say(("s1", "the secret is out"))  # said anew, on the record
    assert len(room.said) == 1


# ------------------------------------------------------------------- turns of one scope: their speakers, and how the halves of an exchange are paired


@pytest.fixture
def open_room():
    return Room("one")


@pytest.fixture
def log(open_room) -> Log:
    return open_room.log


@pytest.fixture
def dialogue(open_room):
    return open_room.talk


def test_exchanges_exchange_what_is_too_long_is_cut_and_counted(dialogue, log):
    dialogue.user_said("a" * (KEEP_CHARS + 5))
    assert (len(log.turns[0].text), log.turns[0].cut) == (KEEP_CHARS, 5)


def test_exchanges_exchange_typing_does_not_take_what_is_being_spoken(dialogue, log):
    dialogue.heard("s1", "good morning")
    dialogue.user_said("typed words")
    dialogue.user_said("good morning")
    assert log.said == [("User", "typed words"), ("Anna", "good morning")]
    assert [turn.channel for turn in log.turns] == ["text", "voice"]


def test_exchanges_exchange_tools_go_to_the_answer_of_their_turn(dialogue, log):
    dialogue.user_said("how is the weather")
    assert not dialogue.uses_tools
    dialogue.tool_called("get_weather")
    assert dialogue.uses_tools
    dialogue.agent_said("It rains.", interrupted=False)
    dialogue.user_said("thanks")
    dialogue.agent_said("Welcome.", interrupted=False)
    assert [turn.tools for turn in log.turns] == [(), ("get_weather",), (), ()]


def test_exchanges_exchange_answer_that_comes_late_belongs_to_the_turn_that_it_began_with(
    dialogue, log
):
    (first,) = dialogue.user_said("tell me a story")
    dialogue.tool_called("find_story")
    dialogue.agent_begins()
    (second,) = dialogue.user_said("stop")
    answers, cut = dialogue.agent_said("Once upon", interrupted=True)
    assert answers is first and cut.event.reply_to == first.id
    assert cut.event.tools == ("find_story",)
    _, ack = dialogue.agent_said("Yes?", interrupted=False)
    assert (ack.event.reply_to, ack.event.tools) == (second.id, ())


def test_exchanges_exchange_asides_and_what_is_forgotten_lend_no_words(dialogue, log):
    (first,) = dialogue.user_said("my dog is called Max")
    _, reply = dialogue.agent_said("Nice.", interrupted=False)
    (order,) = dialogue.user_said("forget that", aside=True)
    answered, answer = dialogue.agent_said("Done.", interrupted=False)
    assert order.aside and answered.aside and answer.event.aside
    assert [turn.aside for turn in log.turns] == [False, False, True, True]
    assert [said.text for said in dialogue.before(None)] == ["my dog is called Max", "Nice."]
    dialogue.forget((first.id, reply.id))
    assert dialogue.before(None) == []
    (after,) = dialogue.user_said("hello")
    _, answer = dialogue.agent_said("Hi.", interrupted=False)
    assert not after.aside and not answer.event.aside


# ------------------------------------------------------------------- audience

SPEAKERS = {"s1": "anna", "s2": "ben", "s3": "guest"}


def people(**options: Any) -> Audience:
    return Audience(PeopleOptions(**{"scopes": "each", "household": "home", **options}),
                    "anna", SPEAKERS)  # fmt: skip


@each_listed("rules/audience.jsonl")
def test_audience_application_may_name_people_by_their_scopes(person, scope):
    assert people().named_scope(person) == scope


@each_listed("rules/audience.jsonl")
def test_audience_read_is_what_all_who_speak_may_read(scopes, reads):
    assert people().readable(tuple(scopes)) == tuple(reads)


def test_audience_who_is_known_is_remembered_and_a_guest_is_not():
    assert people().people == ("anna", "ben")
    assert people().recallable == ("anna", "ben", "home")


@each_listed("rules/audience.jsonl")
def test_audience_scope_is_one_thing(options, own, speakers, words):
    with pytest.raises(ConfigError, match=words):
        Audience(PeopleOptions(**{"scopes": "each", **options}), own, speakers)


# ------------------------------------------------------------------- what was heard of a turn, and how the turn is divided among its speakers

ANNA, BEN = Voice("anna", "Anna"), Voice("ben", "Ben")


def heard(*said: tuple[Voice, str], off: int = 0) -> Transcripts:
    transcripts = Transcripts()
    for n, (voice, words) in enumerate(said):
        transcripts.add(voice, words, off_record=n < off)
    return transcripts


def words(transcripts: Transcripts, text: str, channel=None) -> list[str]:
    return [one.words for one in transcripts.of_turn(text, channel)]


@each_listed("rules/audience.jsonl")
def test_transcripts_of_turn_finds_what_is_in_the_words(text, channel, found):
    transcripts = heard((ANNA, "good morning"), (BEN, "psst"), (ANNA, "all"))
    assert words(transcripts, text, channel) == found


def test_transcripts_of_turn_asks_for_what_was_off_the_record_only_where_the_rest_does_not_cover_it():
    transcripts = heard((ANNA, "the secret is"), (ANNA, "never mind"), off=1)
    assert words(transcripts, "never mind") == ["never mind"]
    assert words(transcripts, "the secret is never mind") == ["the secret is", "never mind"]


@each_listed("rules/transcripts")
def test_transcripts_of_turn_word_of_another_that_is_not_the_turns_changes_no_speaker(muted, text):
    transcripts = heard((BEN, muted), (ANNA, text))
    assert [one.voice for one in transcripts.of_turn(text, None)] == [ANNA]
    transcripts.discard(transcripts.of_turn(text, None))
    assert not transcripts.waiting


def test_transcripts_of_turn_next_turn_that_was_already_heard_waits():
    transcripts = Transcripts()
    for voice in (ANNA, BEN):
        transcripts.add(voice, "yes", begins=True)
    for voice in (ANNA, BEN):
        found = transcripts.of_turn("yes", None)
        assert [one.voice for one in found] == [voice]
        transcripts.discard(found)


def test_transcripts_of_turn_predicted_words_have_a_speaker_until_they_are_final():
    transcripts = Transcripts()
    transcripts.expect(BEN, "what time is it")
    assert transcripts.of_turn("what time is it", "voice") == []
    (found,) = transcripts.of_turn("what time is it", "voice", predicted=True)
    assert found.voice == BEN
    transcripts.add(ANNA, "what time is it")
    (found,) = transcripts.of_turn("what time is it", "voice", predicted=True)
    assert found.voice == ANNA
