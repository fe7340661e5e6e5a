"""Turns of one scope: their speakers, and how the halves of an exchange are paired."""

import pytest

from slowcat_memory.core.text.normalize import KEEP_CHARS
from tests.support.conversations import Log, Room


@pytest.fixture
def room():
    return Room("one")


@pytest.fixture
def log(room) -> Log:
    return room.log


@pytest.fixture
def dialogue(room):
    return room.talk


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
