"""Whether a statement says what its quote says: of whom it does, no contrary, and no other relation."""

import pytest

from slowcat_memory.core.extraction.attributed import wrong_subject
from slowcat_memory.core.extraction.quoted import contradicts, unrelated
from slowcat_memory.core.extraction.slots import PREFERRED, canonical
from slowcat_memory.records import Statement, Turn
from tests.support.rows import each_listed, listed
from tests.support.said import turn

PEOPLE = ("Felix", "Petra", "Lotte", "Tom", "Ines", "Juno", "Mr Haddad", "Herr Haddad", "Dr Osei")
RELATED = ("Gareth", "Gerd", "Hana", "Piet", "Tom", "Otto", "Petra", "Jonas", "Ines", "Leo", "Button", "Knopf")  # fmt: skip


def of_another(content: str, said: Turn, quote: str, subject: str) -> bool:
    return bool(wrong_subject(content, subject, quote, said, PEOPLE))


def of_no_relation(triple: str, said: Turn, quote: str) -> bool:
    words = triple.split()
    at = next(n for n, word in enumerate(words) if "_" in word or word in PREFERRED)
    subject, predicate, object_ = " ".join(words[:at]), words[at], " ".join(words[at + 1 :])
    parts = {"subject": subject, "predicate": canonical(predicate), "object": object_}
    return bool(unrelated(Statement(**parts, quote=quote), predicate, said, RELATED))


@pytest.mark.parametrize("change", [str, str.lower])
@pytest.mark.parametrize("language", ["english", "german"])
@pytest.mark.parametrize(
    ("rows", "refuses"), [("attributed", of_another), ("related", of_no_relation)]
)
def test_what_a_quote_does_not_say_is_refused_and_the_right_kept(rows, refuses, language, change):
    kept, bad = {True: list[bool](), False: list[bool]()}, list[str]()
    for text, quote, *more, statement in listed(f"rules/{rows}", language):
        right, said = not statement.startswith("!"), turn(change(text), scope="m", speaker="Mira")
        refused = refuses(statement.lstrip("!"), said, change(quote), *more)
        kept[right].append(not refused)
        if refused == right:
            bad.append(f"{quote}: {statement}")
    right, wrong = kept[True], kept[False]
    assert sum(right) >= 0.95 * len(right) and sum(wrong) <= 0.1 * len(wrong), "\n".join(bad)


@each_listed("rules/contradicted")
def test_the_contrary_of_a_quote_is_refused(quote: str, right: str, wrong: str) -> None:
    for said in (quote, quote.lower()):
        assert not contradicts(right, said)
        assert contradicts(wrong, said)


@each_listed("rules/contradicted")
def test_a_negation_of_something_else_denies_nothing(quote: str, content: str) -> None:
    assert not contradicts(content, quote)


@each_listed("rules/contradicted")
def test_a_denial_in_another_clause_denies_nothing(content, quote, wrong):
    assert contradicts(content, quote) is (wrong == "yes")
