import json
import random
import time
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Meta, Struct

from slowcat_memory.errors import BadAnswerError
from slowcat_memory.providers.llm.reply_parsing import MAX_CHARS, parse_reply
from tests.support.rows import each_listed


class Fact(Struct, frozen=True, forbid_unknown_fields=True):
    subject: Annotated[str, Meta(max_length=20)]
    weight: float
    count: int = 0


class Facts(Struct, frozen=True, forbid_unknown_fields=True):
    facts: Annotated[list[Fact], Meta(max_length=3)]


class Node(Struct, frozen=True, forbid_unknown_fields=True):
    """Its answer may hold objects that look like answers themselves."""

    inner: "list[Node]" = []


GOOD = '{"facts": [{"subject": "Max", "weight": 0.5}]}'


@each_listed("providers/reply_parsing.jsonl")
def test_parse_whatever_it_is_wrapped_in(text: str) -> None:
    assert parse_reply(text, Facts).value == Facts([Fact("Max", 0.5)])


def test_parse_a_tag_within_a_string_is_a_string() -> None:
    text = (
        '{"facts": [{"subject": "<think>", "weight": 1.0}, {"subject": "a</think>", "weight": 1}]}'
    )
    assert [fact.subject for fact in parse_reply(text, Facts).value.facts] == [
        "<think>",
        "a</think>",
    ]


@each_listed("providers/reply_parsing.jsonl")
def test_parse_what_cannot_be_used(text: str, why: str) -> None:
    with pytest.raises(BadAnswerError, match=why) as caught:
        parse_reply(text, Facts)
    assert "marzipan" not in str(caught.value)


def test_parse_what_is_too_deep_or_too_long_cannot_be_used() -> None:
    deep = "[" * 30_000 + "]" * 30_000
    for text in (f'{{"facts": {deep}}}', f"{{'facts': {deep}}}", "x" * 70_000):
        with pytest.raises(BadAnswerError, match="longer" if text[0] == "x" else "nested"):
            parse_reply(text, Facts)


def test_parse_of_an_answer_that_was_cut_off_no_smaller_one_is_taken() -> None:
    assert parse_reply('{"inner": [{"inner": []}]}', Node).value.inner
    cut = parse_reply('{"inner": [{"inner": [{"inner": []}]}, {"inn', Node)
    assert len(cut.value.inner) == 1 and not cut.whole


@given(st.text())
@settings(max_examples=100)
def test_parse_any_text_is_an_answer_or_bad(text: str) -> None:
    for wrapped in (text, f"<think>{text}", f"```{text}", "{" + text, f'{{"facts": [{text}]}}'):
        survives(wrapped)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=100)
def test_parse_any_json_is_an_answer_or_bad(value: Any) -> None:
    survives(json.dumps({"facts": value}))
    survives(json.dumps(value))


def test_parse_spoilt_answers_are_answers_or_bad() -> None:
    rng, read = random.Random(5), 0
    pieces = (
        '{ } [ ] " \\ \\u \\ud800 NaN 1e9999 <think> </think> ``` null - 0x , : \ud800 é'.split()
    )
    for _ in range(1000):
        text = rng.choice([GOOD, f"```json\n{GOOD}\n```", f"<think>a</think>{GOOD}", GOOD * 2])
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(pieces) + text[at + rng.randint(0, 3) :]
        read += survives(text)
    assert 0 < read < 900, "nothing was spoilt, or everything"


@each_listed("providers/reply_parsing.jsonl")
def test_parse_no_answer_takes_long_to_read(piece: str) -> None:
    began = time.process_time()
    for before in ("", "x "):
        survives(before + piece * ((MAX_CHARS - 2) // len(piece)))
    assert time.process_time() - began < 0.5


def survives(text: str) -> bool:
    try:
        value = parse_reply(text, Facts).value
    except BadAnswerError:
        return False
    assert isinstance(value, Facts)
    json.dumps([fact.subject for fact in value.facts], ensure_ascii=False).encode("utf-8")
    return True


class Told(Struct, frozen=True, forbid_unknown_fields=True):
    PROSE: ClassVar[str] = "text"
    text: Annotated[str, Meta(max_length=100)]


def test_parse_commas_and_brackets_within_strings_stay() -> None:
    assert parse_reply('{"text": "a, ] , } \\", ]",}', Told).value == Told('a, ] , } ", ]')


def test_parse_prose_is_a_text_where_the_type_wants_one() -> None:
    assert parse_reply("Anna moved to Porto.", Told, prose=True).value == Told(
        "Anna moved to Porto."
    )
    for text, into, prose in (
        ("Anna moved to Porto.", Told, False),
        ("Anna moved to Porto.", Facts, True),
        ('{"text": "Anna moved', Told, True),
        ("", Told, True),
    ):
        with pytest.raises(BadAnswerError):
            parse_reply(text, into, prose=prose)
