"""What may be a name, and which words introduce the speaker."""

from slowcat_memory.core.extraction.bounded_names import can_be_name, introduced
from tests.support.rows import each_listed
from tests.support.said_lists import cases


@each_listed("rules/bounded_names")
def test_can_be_name_no_sentence_is_one(name: str) -> None:
    assert not can_be_name(name, person=True)


def test_can_be_name_no_order_of_the_lists_names_a_person() -> None:
    named = [one.said.rstrip(".") for one in cases("tuned") if one.disguise == "name"]
    whole = [" ".join(word for word in said.split() if word[0].isupper()) for said in named]
    assert not [one for one in whole if can_be_name(one, person=True)]


@each_listed("rules/introductions")
def test_an_introduction_gives_the_name(text: str, name: str) -> None:
    assert introduced(text) == name


@each_listed("rules/introductions")
def test_nothing_else_introduces_anybody(text: str) -> None:
    assert introduced(text) == ""
