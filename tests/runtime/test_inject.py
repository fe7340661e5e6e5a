"""The block in a message, and what is still visible in a context."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.runtime import inject

BLOCK = f"{OPEN}\n- (12 May) Anna: My dog is called Max.\n{CLOSE}"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SPECIAL = LLMSpecificMessage(llm="anthropic", message={"role": "user", "content": "raw"})

WORDS = st.text().filter(lambda text: not text.startswith(OPEN))
PARTS = st.lists(st.one_of(st.just(IMAGE), WORDS.map(lambda t: {"type": "text", "text": t})))
CONTENT = st.one_of(WORDS, PARTS)


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


def test_the_last_user_message_is_found_among_others():
    last = user("second")
    messages = [user("first"), assistant("a"), last, {"role": "developer", "content": "d"}, SPECIAL]
    assert inject.last_user_message(messages) is last
    assert inject.last_user_message([assistant("a"), SPECIAL]) is None
    assert inject.last_user_message([]) is None


def test_a_message_is_found_by_its_words_with_or_without_a_block():
    first, second, third = user("yes"), user("yes"), user("no")
    inject.prefix(second, BLOCK)
    assert inject.message_saying([SPECIAL, first, second, third], "yes ") is second
    assert inject.message_saying([first, second, third], "perhaps") is None


def test_what_an_answer_follows_is_history():
    assert inject.answered([user("a"), SPECIAL, assistant("b"), user("c"), SPECIAL]) == 3
    assert inject.answered([assistant("b")]) == 1
    assert inject.answered([user("a"), SPECIAL]) == inject.answered([]) == 0


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("words", "words"),
        ([{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}], "a b"),
        ([IMAGE], ""),
        ([None, "words", {"type": "text"}, {"type": "text", "text": None}], ""),
        (None, ""),
        (7, ""),
        ({"text": "words"}, ""),
    ],
)
def test_the_words_of_a_message(content, text):
    assert inject.message_text(user(content)) == text


def test_the_words_of_a_message_without_content():
    assert inject.message_text({"role": "user"}) == ""


def test_a_block_goes_in_front_of_the_words():
    message = user("what is my dog called")
    inject.prefix(message, BLOCK)
    assert message == user(f"{BLOCK}\n\nwhat is my dog called")
    assert inject.block_of(message) == BLOCK


def test_a_block_becomes_the_first_part_of_several():
    message = user([IMAGE, {"type": "text", "text": "who is it"}])
    inject.prefix(message, BLOCK)
    assert message["content"][0] == {"type": "text", "text": BLOCK}
    assert inject.block_of(message) == BLOCK


@given(CONTENT)
def test_stripping_undoes_prefixing(content):
    message = user(copy.deepcopy(content))
    inject.prefix(message, BLOCK)
    before = copy.deepcopy(message)
    (stripped,) = inject.strip_memories([message])
    expected = content.lstrip() if isinstance(content, str) else content
    assert stripped == user(expected)
    assert message == before  # the live message keeps its block
    assert inject.without_block(inject.message_text(message)).strip() == (
        inject.message_text(user(content)).strip()
    )


@given(st.lists(CONTENT.map(user)))
def test_stripping_leaves_what_has_no_block(messages):
    stripped = inject.strip_memories(messages)
    assert all(new is old for new, old in zip(stripped, messages, strict=True))


def test_stripping_a_text_that_an_application_made_a_part():
    message = user([{"type": "text", "text": f"{BLOCK}\n\nhello"}, IMAGE])
    assert inject.strip_memories([message, SPECIAL]) == [
        user([{"type": "text", "text": "hello"}, IMAGE]),
        SPECIAL,
    ]


@pytest.mark.parametrize(
    "words", [f"what does {OPEN} mean", f"a {BLOCK} in the middle", f"{OPEN} a {CLOSE}", OPEN]
)
def test_a_tag_that_a_person_wrote_is_no_block(words):
    message = user(words)
    assert inject.block_of(message) == "" and inject.without_block(words) == words
    inject.prefix(message, BLOCK)
    assert inject.strip_memories([message]) == [user(words)]


# ---------------------------------------------------------------- what is visible


def test_offered_memories_are_visible_while_their_message_is():
    visible, message, other = inject.Visible(), user("hello"), user("bye")
    visible.refresh([message, other])
    inject.prefix(message, BLOCK)
    visible.offered(message, BLOCK, ["chunk/1", "chunk/2"])
    visible.refresh([message, other])
    assert visible.memories == {"chunk/1", "chunk/2"}
    visible.refresh([other])
    assert visible.memories == frozenset()


def test_offered_memories_are_visible_in_a_copy():
    visible, message = inject.Visible(), user("hello")
    inject.prefix(message, BLOCK)
    visible.offered(message, BLOCK, ["chunk/1"])
    visible.refresh([dict(message)])
    assert visible.memories == {"chunk/1"}


def test_one_block_in_two_messages_is_visible_while_one_is():
    visible, first, second = inject.Visible(), user("a"), user("b")
    for message in (first, second):
        inject.prefix(message, BLOCK)
        visible.offered(message, BLOCK, ["chunk/1"])
    visible.refresh([second])
    assert visible.memories == {"chunk/1"}


def test_a_logged_message_shows_its_own_memories():
    visible, message = inject.Visible(), user("I like tea. Me too.")
    visible.logged(message, ["chunk/1", "chunk/2"])
    visible.refresh([message])
    assert visible.memories == {"chunk/1", "chunk/2"}
    visible.refresh([])
    assert visible.memories == frozenset()


def test_words_are_compared_as_the_log_has_them():
    visible = inject.Visible()
    messages = [user("Cafe\u0301 at\x00\u202e nine!"), assistant("Yes, \u2018nine\u2019."), SPECIAL]
    inject.prefix(messages[0], BLOCK)
    visible.refresh(messages)
    assert visible.words == {fingerprint("café at nine"), fingerprint("yes 'nine'")}


def test_nothing_is_visible_in_an_empty_context():
    visible = inject.Visible()
    visible.refresh([user(""), SPECIAL])
    assert visible.words == visible.memories == frozenset()
