"""What a person muted: kept and listed for people, and said or shown to no LLM."""

import json
from contextlib import closing

import pytest

from slowcat_memory.core import disclosure
from slowcat_memory.core.disclosure import disclose
from slowcat_memory.engine import hotwords
from slowcat_memory.testing import ScriptedLLM
from slowcat_memory.transfer.formats.rows import export
from tests.harness.import_trips import import_file
from tests.support.layers import ASK, ELSE, SECRET, edit, layers, tell, told
from tests.support.memories import Look
from tests.support.parroting_llm import Mind, ledger, parrot
from tests.support.said import turn_at


def leaking(mind: Mind) -> set[str]:
    said = told(mind, local=True)
    return {way for way, text in said.items() if SECRET.casefold() in text.casefold()}


def test_muted_what_was_made_before_is_muted_too_and_comes_back(mind):
    turns, llm = tell(mind), ScriptedLLM(parrot)
    mind.think(llm, days=0.1)
    mind.think(llm)
    assert {"head", "graph", f"block of {ASK[0]}", f"search {ASK[0]}"} <= leaking(mind)
    edit(mind, turns, muted=True)
    assert leaking(mind) == set()
    assert mind.think(llm) == 0 and leaking(mind) == set()
    blocks = [one for one in Look(mind.engine).memories("anna", "block/") if not one.retired_at]
    assert "Siemens" in repr(blocks), "blocks are written again without it"
    assert set(layers(mind)) >= {"fact", "summary/session"}, "it is kept"
    person = mind.engine.reader("anna", local=True, muted=True)
    listed = repr([disclose(one, person) for one in Look(mind.engine).memories("anna")])
    assert SECRET in listed, "a person sees it in lists"
    mind.close()
    mind.open()
    assert leaking(mind) == set(), "the mark is in the store, and indexes are loaded without it"
    edit(mind, turns, muted=False)
    assert {"graph", f"block of {ASK[0]}", f"search {ASK[0]}"} <= leaking(mind)


@pytest.mark.parametrize("asks", [False, True], ids=["rules", "llm"])
def test_muted_what_is_made_of_it_later_is_muted_and_in_no_prompt(mind, asks):
    llm = ScriptedLLM(parrot) if asks else None
    tell(mind, muted=True)
    ledger(mind)
    mind.think(llm, days=0.1)
    mind.talk("later", ["My dog Max likes the beach in Lisbon a lot.", *ELSE, *ELSE])
    ledger(mind)
    assert mind.think(llm) == 0, "no job waits for ever for what it may not read"
    assert leaking(mind) == set()
    if llm is not None:
        asked = {prompt.job for prompt in llm.prompts}
        held = {p.job for p in llm.prompts if SECRET.casefold() in (p.system + p.user).casefold()}
        assert held == set() and len(asked) >= 5


def test_muted_a_reply_to_a_muted_turn_is_muted(mind):
    start = mind.talk("secret", [f"My sister {SECRET} lives in Porto."])
    edit(mind, [start[0].id], muted=True)
    text, who = f"So {SECRET} lives in Porto.", {"speaker": "Cat", "role": "assistant"}
    reply = turn_at(text, mind.clock.now, session="secret", reply_to=start[0].id, **who)
    mind.engine.append(reply)
    mind.engine.flush(30.0, indexed=True)
    assert leaking(mind) == set()


@pytest.mark.parametrize("local", [True, False])
def test_muted_words_are_no_hotwords_for_speech_to_text(mind, local):
    said = ["My sister Isaura lives in Porto.", "My brother Bertrand lives in Porto."]
    first, _ = mind.talk("names", said)

    def hot() -> set[str]:
        return {one.word for one in hotwords(mind.engine, "anna", local=local)}

    assert {"Isaura", "Bertrand"} <= hot()
    edit(mind, [first.id], muted=True)
    assert "Isaura" not in hot() and "Bertrand" in hot()
    edit(mind, [first.id], muted=False)
    assert "Isaura" in hot()


def test_muted_survives_an_export_and_an_import(mind, tmp_path):
    [turn, _] = mind.talk("secret", [(f"My sister {SECRET} lives in Porto.", "I see.")])
    note = mind.engine.remember(f"{SECRET} likes figs", "anna")
    edit(mind, [turn.id], muted=True)
    mind.engine.edit("anna", note.id, muted=True)
    file = tmp_path / "memory.jsonl"
    rows = [*export(mind.engine.snapshot)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    with closing(Mind(tmp_path / "other")) as other:
        import_file(other.engine, file, on_error=pytest.fail)
        assert leaking(other) == set()
        muted = {one.text for one in Look(other.engine).memories("anna") if one.muted}
        assert muted >= {turn.text, note.text}


def test_muted_without_inheritance_the_test_sees_a_leak(mind, monkeypatch):
    """The negative control: what was made of a muted turn speaks of it."""
    turns = tell(mind)
    mind.think(None, days=0.1)
    mind.think(None)
    monkeypatch.setattr(disclosure, "origins", lambda memory: iter(()))
    edit(mind, turns, muted=True)
    assert leaking(mind)
