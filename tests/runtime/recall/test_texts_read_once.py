"""A recall reads the words of each text once, however many texts are compared with each other."""

from collections import Counter

import pytest

from slowcat_memory.core.query import asked_facts
from slowcat_memory.runtime.recall import choosing
from tests.support.recall_without_store import Mind, memory, query

ASKED = "on which day do the movers come with the lorries"
STATEMENTS = [f"The movers come with two lorries on the {day}th" for day in range(11, 17)] + [
    "Because of the strike the movers with the lorries were rescheduled"
]


@pytest.fixture
def mind() -> Mind:
    said = [memory(f"chunk/{n}", text, days=30 - n) for n, text in enumerate(STATEMENTS, start=1)]
    mind = Mind(*said)
    mind.namespace.changing = [f"chunk/{n}" for n in range(1, len(said) + 1)]
    return mind


def counted(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> Counter[str]:
    """Count the calls of a function of texts, by text."""
    calls, before = Counter[str](), getattr(module, name)

    def count(text: str, language: str) -> object:
        calls[text] += 1
        return before(text, language)

    monkeypatch.setattr(module, name, count)
    return calls


def test_the_words_of_each_text_are_read_once_for_all_comparisons(mind, monkeypatch):
    calls = counted(monkeypatch, asked_facts, "keys")
    found = mind.run(query(ASKED, keep_share=0.1)).hits
    assert len(found) > 3 and any(hit.memory.facets.get("earlier") for hit in found)
    assert calls[found[0].memory.text] == 1
    assert max(calls[text] for text in (ASKED, *STATEMENTS)) == 1


def test_the_names_in_a_question_are_looked_for_once(mind, monkeypatch):
    calls = counted(monkeypatch, choosing, "names_in")
    mind.run(query(ASKED, keep_share=0.1, exclude_words=frozenset({STATEMENTS[0].lower()})))
    assert calls == {ASKED: 1}
