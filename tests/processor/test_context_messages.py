"""Which messages are new turns: what people typed, what was copied, what a summary left."""

import copy

import pytest

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.processor.context_messages import ContextMessages
from tests.support.processors import assistant, user


@pytest.fixture
def context() -> list:
    return []


@pytest.fixture
def known(context) -> ContextMessages:
    return ContextMessages(lambda: context, lambda _: False)


def log(known: ContextMessages, message: dict) -> None:
    known.mark_handled(message)
    known.set_turn(message, None)


def test_context_messages_find_new_copy_is_no_turn_and_the_same_words_typed_again_are(
    known, context
):
    context[:] = [user("yes")]
    log(known, context[0])
    context[:] = copy.deepcopy(context)
    assert known.find_new(context) is None
    context[:] = copy.deepcopy(context)  # and a copy of the copy
    assert known.find_new(context) is None
    again = user("yes")
    known.mark_typed([again])
    context[:] = [assistant("Good."), again]
    assert known.find_new(context) is again


def test_context_messages_find_new_turn_that_is_being_spoken_is_no_copy(known, context):
    context[:] = [user("yes")]
    log(known, context[0])
    context.clear()
    said = user("yes")
    assert known.find_new([said], predicted=True) is said
    assert known.find_new([said]) is None


def test_context_messages_find_new_typed_words_are_handed_over_once(known, context):
    first, second = user("one"), user("two")
    known.mark_typed(
        [user("asked long ago"), assistant("Answered."), first, assistant_note(), second]
    )
    assert known.is_typed(first)
    log(known, second)
    assert known.take_typed() == [first] and known.take_typed() == []
    known.mark_typed(
        [user(f"{OPEN}\n- (today) Anna: tea\n{CLOSE}\n\nan old message of the context")]
    )
    assert known.take_typed() == []


def assistant_note() -> dict:
    return {"role": "developer", "content": "A note."}


def test_context_messages_find_new_summary_is_nobodys_turn_nor_are_its_copies(known, context):
    context[:] = [user("Conversation summary: They talked.")]
    known.mark_summary(context)
    assert known.find_new(context) is None
    context[:] = copy.deepcopy(context)
    assert known.find_new(context) is None


def test_context_messages_find_new_what_a_summary_left_answered_is_no_turn(known, context):
    context[:] = [user("hello"), assistant("Hello.")]
    log(known, context[0])
    context[:] = [user("Conversation summary."), *copy.deepcopy(context)]
    known.mark_summary(context)
    assert known.find_new(context) is None
    context.append(user("and now"))
    assert known.find_new(context) is context[-1]


def test_context_messages_find_new_copies_that_an_application_brings_are_known_and_their_copies_too(
    known, context
):
    context[:] = [user("hello"), assistant("Hello.")]
    log(known, context[0])
    for _ in range(2):
        context[:] = copy.deepcopy(context)
        known.mark_history(context)
    context[:] = copy.deepcopy(context)
    assert known.find_new(context) is None
