"""Blocks in a context, and a context that is kept short."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipecat.processors.aggregators.llm_context import LLMSpecificMessage

from slowcat_memory.core.render.memory_block import CLOSE, OPEN
from slowcat_memory.core.text.normalize import fingerprint
from slowcat_memory.runtime import injection
from slowcat_memory.runtime.injection import ContextOptions, trimmed
from tests.support.processors import assistant, user

# ------------------------------------------------------------------- the block in a message, and what is still visible in a context

BLOCK = f"{OPEN}\n- (12 May) Anna: My dog is called Max.\n{CLOSE}"
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SPECIAL = LLMSpecificMessage(llm="anthropic", message={"role": "user", "content": "raw"})

WORDS = st.text().filter(lambda text: not text.startswith(OPEN))
PARTS = st.lists(st.one_of(st.just(IMAGE), WORDS.map(lambda t: {"type": "text", "text": t})))
CONTENT = st.one_of(WORDS, PARTS)


@given(CONTENT)
def test_injection_stripping_undoes_prefixing(content):
    message = user(copy.deepcopy(content))
    injection.prefix(message, BLOCK)
    before = copy.deepcopy(message)
    (stripped,) = injection.strip_memories([message])
    expected = content.lstrip() if isinstance(content, str) else content
    assert stripped == user(expected)
    assert message == before  # the live message keeps its block
    assert injection.without_block(injection.message_text(message)).strip() == (
        injection.message_text(user(content)).strip()
    )


@given(st.lists(CONTENT.map(user)))
def test_injection_stripping_leaves_what_has_no_block(messages):
    stripped = injection.strip_memories(messages)
    assert all(new is old for new, old in zip(stripped, messages, strict=True))


def test_injection_stripping_a_text_that_an_application_made_a_part():
    message = user([{"type": "text", "text": f"{BLOCK}\n\nhello"}, IMAGE])
    assert injection.strip_memories([message, SPECIAL]) == [
        user([{"type": "text", "text": "hello"}, IMAGE]),
        SPECIAL,
    ]


@pytest.mark.parametrize(
    "words", [f"what does {OPEN} mean", f"a {BLOCK} in the middle", f"{OPEN} a {CLOSE}", OPEN]
)
def test_injection_tag_that_a_person_wrote_is_no_block(words):
    message = user(words)
    assert injection.block_of(message) == "" and injection.without_block(words) == words
    injection.prefix(message, BLOCK)
    assert injection.strip_memories([message]) == [user(words)]


# ---------------------------------------------------------------- what is visible


def test_injection_offered_memories_are_visible_in_a_copy():
    visible, message = injection.Visible(), user("hello")
    injection.prefix(message, BLOCK)
    visible.add_block(message, BLOCK, ["chunk/1"])
    visible.refresh([dict(message)])
    assert visible.memories == {"chunk/1"}


def test_injection_words_are_compared_as_the_log_has_them():
    visible = injection.Visible()
    messages = [user("Cafe\u0301 at\x00\u202e nine!"), assistant("Yes, \u2018nine\u2019."), SPECIAL]
    injection.prefix(messages[0], BLOCK)
    visible.refresh(messages)
    assert visible.words == {fingerprint("café at nine"), fingerprint("yes 'nine'")}


def placed(message, block, ids, visible):
    injection.prefix(message, block)
    visible.add_block(message, block, ids)


def block(*lines):
    return "\n".join((OPEN, *(f"- (12 May) Anna: {line}" for line in lines), CLOSE))


STEPS = st.lists(
    st.tuples(st.sampled_from(["say", "block", "forget", "swap", "drop"]), st.integers(0, 5))
)


@given(STEPS)
def test_what_is_visible_is_the_same_whether_it_was_kept_or_is_read_anew(steps):
    kept, messages, logged, ids = injection.Visible(), [], {}, {}
    for number, (step, place) in enumerate(steps):
        message = messages[place] if place < len(messages) else None
        if step == "say" or message is None:
            message = user(f"turn {number}")
            messages.append(message)
            logged[id(message)] = {f"chunk/{number}"}
            kept.add_logged(message, logged[id(message)])
        elif step == "block":
            if not injection.block_of(message):
                ids[block(str(number))] = {f"chunk/{100 + number}"}
                placed(message, block(str(number)), ids[block(str(number))], kept)
        elif step == "forget":
            message["content"] = "…"
            kept.discard(message)
            logged.pop(id(message), None)
        elif step == "swap":  # another block, as after a change of speakers
            message["content"] = injection.strip_memories([message])[0]["content"]
            ids[block("x", str(number))] = {f"chunk/{200 + number}"}
            placed(message, block("x", str(number)), ids[block("x", str(number))], kept)
        else:
            messages.remove(message)
        kept.refresh(messages)
        standing = {injection.block_of(one) for one in messages}
        expected = [logged.get(id(one), set()) for one in messages]
        expected += [held for text, held in ids.items() if text in standing]
        assert kept.memories == frozenset().union(*expected)
        words = {fingerprint(injection.words_of(one)) for one in messages}
        assert kept.words == frozenset(filter(None, words))


def test_a_copy_that_is_refreshed_leaves_the_original_as_it_was():
    kept, first = injection.Visible(), user("first")
    kept.refresh([first])
    before = kept.words
    ahead = copy.copy(kept)
    ahead.refresh([user("second")])
    assert ahead.words == {"second"} and kept.words == before == {"first"}
    kept.refresh([first])
    assert kept.words == {"first"}


def test_a_message_is_read_once_while_it_stays(monkeypatch):
    read, before = [], injection._read
    monkeypatch.setattr(injection, "_read", lambda one: read.append(one) or before(one))
    kept, messages = injection.Visible(), []
    for number in range(20):
        messages.append(user(f"turn {number}"))
        kept.refresh(messages)
        placed(messages[-1], block(str(number)), {f"chunk/{number}"}, kept)
    assert len(read) == 20 and len(kept.memories) == 20


def test_injection_message_is_found_by_its_words_with_or_without_a_block():
    first, second, third = user("yes"), user("yes"), user("no")
    injection.prefix(second, BLOCK)
    assert injection.message_saying([SPECIAL, first, second, third], "yes ") is second
    assert injection.message_saying([first, second, third], "perhaps") is None


def test_injection_what_an_answer_follows_is_history():
    assert injection.answered([user("a"), SPECIAL, assistant("b"), user("c"), SPECIAL]) == 3
    assert injection.answered([assistant("b")]) == 1
    assert injection.answered([user("a"), SPECIAL]) == injection.answered([]) == 0


# ------------------------------------------------------------------- the conversation that the LLM reads is cut to whole exchanges

SYSTEM = {"role": "system", "content": "Be kind."}


def exchange(n: int, words: int = 3) -> list[dict]:
    return [
        {"role": "user", "content": f"question {n} {'word ' * words}"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": str(n)}]},
        {"role": "tool", "content": "result", "tool_call_id": str(n)},
        {"role": "assistant", "content": f"answer {n}"},
    ]


def talk(count: int) -> list[dict]:
    return [SYSTEM, *(one for n in range(count) for one in exchange(n)), exchange(count)[0]]


def questions(messages: list[dict]) -> list[int]:
    return [int(one["content"].split()[1]) for one in messages if one["role"] == "user"]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_trimmed_keeps_the_last_exchanges_whole_and_the_instructions(most):
    stay = trimmed(talk(9), ContextOptions(exchanges=most))
    assert stay is not None and stay[0] is SYSTEM
    assert questions(stay) == list(range(9 - most + 1, 10))
    calls = {call["id"] for one in stay for call in one.get("tool_calls", ())}
    assert calls == {one["tool_call_id"] for one in stay if one["role"] == "tool"}


def test_trimmed_drops_the_oldest_until_the_rest_fits_but_never_the_last():
    stay = trimmed(talk(9), ContextOptions(max_tokens=120))
    assert stay is not None and 1 < len(questions(stay)) < 10 and questions(stay)[-1] == 9
    less = trimmed(talk(9), ContextOptions(max_tokens=120), reserved=60)
    assert less is not None and len(questions(less)) < len(questions(stay))
    assert questions(trimmed(talk(9), ContextOptions(max_tokens=1)) or []) == [9]
