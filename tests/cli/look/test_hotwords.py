"""slowcat-memory hotwords."""

import json

import pytest


@pytest.fixture
def told(filled):
    for line in ("We met Isaura in Lisbon.", "Then Isaura sang.", "My cat is called Quarkus."):
        filled.ok("remember", line)
    return filled


def test_hotwords_names_are_listed_a_line_each_the_most_telling_first(told) -> None:
    lines = told.ok("hotwords").split()
    assert {"Isaura", "Lisbon", "Anna", "Max"} <= set(lines)
    assert told.ok("hotwords", "--n", "2").split() == lines[:2]


def test_hotwords_as_json_with_weights(told) -> None:
    found = json.loads(told.ok("hotwords", "--format", "json"))
    assert found[0]["weight"] == 1.0 and all(0 < one["weight"] <= 1 for one in found)
    assert next(one for one in found if one["word"] == "Isaura")["name"] is True


def test_hotwords_as_a_prompt_for_whisper(told) -> None:
    prompt = told.ok("hotwords", "--format", "whisper").strip()
    assert "\n" not in prompt and prompt.endswith(".") and "Isaura, " in prompt


def test_hotwords_an_empty_scope_says_so(filled) -> None:
    result = filled("hotwords", "--scope", "nobody")
    assert result.exit_code == 1 and result.stdout == ""
    assert "Nothing is remembered of nobody" in result.stderr
    assert json.loads(filled.ok("hotwords", "--scope", "nobody", "--format", "json")) == []
