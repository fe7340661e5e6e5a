"""Sentences of an LLM about somebody, read by rule."""

import pytest

from slowcat_memory.core.extraction.third_person import read_sentence


@pytest.mark.parametrize(
    "sentence",
    ["Anna joined a choir in Graz.", "Anna joined the gym.", "Anna joins in.", "Anna joined us."],
)
def test_who_joins_a_group_has_no_new_employer(sentence: str) -> None:
    read = read_sentence(sentence, "Anna")
    assert read is None or read.predicate != "works_at"


@pytest.mark.parametrize("sentence", ["Anna joined Siemens.", "Anna joins Acme in May."])
def test_who_joins_a_company_works_there(sentence: str) -> None:
    read = read_sentence(sentence, "Anna")
    assert read is not None and read.predicate == "works_at"
