"""The tables of orders: every pattern compiles, and means what its classes say."""

import pytest

from slowcat_memory.core.language import LANGUAGES
from slowcat_memory.core.language.word_classes import OrderWords

TABLE = OrderWords(
    classes={
        "comma": ",",
        "colon": ":",
        "joins": "and",
        "you": "you",
        "must": "must",
        "act": "act",
    },
    groups={"duty": "must/you act"},
    signals={"2": ["duty act"], "-1": ["^ act $"]},
    content="act",
)


def matches(pattern: str, *names: str) -> bool:
    table = OrderWords(
        classes=TABLE.classes, groups=TABLE.groups, signals={"1": [pattern]}, content="act"
    )
    codes = "".join(table.code_of.get(name, "x") for name in names)
    return bool(table.compiled[0][1].search(codes))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_order_words_every_signal_compiles(language) -> None:
    assert language.orders.compiled and language.orders.needed


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_order_words_no_class_is_without_a_word_of_its_own(language) -> None:
    table = language.orders
    owned = {table.class_of(word) for word in table.codes}
    assert {name for name in table.classes if name not in owned} == set()


def test_order_words_patterns() -> None:
    assert matches("you must", "you", "must") and not matches("you must", "you", "act")
    assert matches("you|must act", "must", "act")
    assert matches("duty act", "you", "act", "act"), "a group's alternative of two words"
    assert matches("you act? must", "you", "must")
    assert matches("you .. act", "you", "-", "-", "-", "act")
    assert not matches("you .. act", "you", "-", "-", "-", "-", "act")
    assert not matches("you .. act", "you", "comma", "act"), "another clause"
    assert matches("^ act", "you", "comma", "act") and not matches("^ act", "you", "act")
    assert not matches("you !act", "you", "act") and matches("you !act", "you", "must")


def test_order_words_an_unknown_class_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        matches("you nothing", "you")
