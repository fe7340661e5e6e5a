"""Forgotten is forgotten: whatever was made of a turn, in whichever file, and nothing comes back."""

from pathlib import Path

import pytest

from slowcat_memory.records import Forget, LedgerEntry, Offer
from slowcat_memory.store.disk import folder
from slowcat_memory.testing import ScriptedLLM
from tests.support.layers import ELSE, LAYERS, SECRET, TOLD, layers, tell
from tests.support.memories import Look, residue
from tests.support.parroting_llm import Mind, parrot


@pytest.fixture
def mind(mind: Mind) -> Mind:
    mind.llm = ScriptedLLM(parrot)
    return mind


def talked(mind: Mind) -> list[int]:
    """Talk about the secret between other sessions, think of it twice; the turns to forget."""
    turns = tell(mind)
    assert mind.think(days=0.1) == 0  # nothing has expired
    asked = Look(mind.engine).turn(turns[0])
    offers = tuple(Offer(memory=f"chunk/{id_}", score=0.9, probability=0.9) for id_ in turns[2:4])
    entry = LedgerEntry(turn=asked.id, scope="anna", session="secret", at=asked.at, offers=offers)
    mind.engine.store.write_ledger(entry)
    mind.talk("later", ELSE[:1])
    assert mind.think() == 0  # the day and the week are over
    return turns


def litter(path: Path) -> None:
    """Leave behind what killed processes, damage and backups leave in a store's folder."""
    data = folder.data_file(path).read_bytes()
    assert SECRET.encode() in data
    names = (
        *(folder.REPLAYING, f"{folder.FRESH}1", f"{folder.FRESH}2", folder.BACKUPS),
        f"{folder.REPLACED}20260501T000000Z",
    )
    for name in names:
        (path / name).mkdir(exist_ok=True)
        (path / name / folder.DATA).write_bytes(data)
    (path / folder.FRESH).write_bytes(data)
    [index] = (path / "index").iterdir()
    (index / "tmp-dead").mkdir()
    (index / "tmp-dead" / "words").write_text(SECRET)


def test_forget_everything_what_was_made_of_a_turn_goes_with_it_from_every_file(mind):
    turns = talked(mind)
    assert not LAYERS - layers(mind).keys(), "a layer never held it: nothing would be shown"
    mind.engine.upkeep.seal("anna")
    mind.engine.store.backup()
    litter(mind.path)
    held = residue(mind.path, SECRET)
    assert len(held) >= 10 and any(name.startswith("index/") for name in held)
    assert mind.engine.forget(Forget(scope="anna", turns=tuple(turns))).erased
    assert not layers(mind)
    mind.engine.store.flush(None)
    assert residue(mind.path, SECRET) == []
    assert SECRET not in mind.engine.session_context("anna", local=True)


def test_forget_everything_and_nothing_of_it_comes_back(mind):
    turns = talked(mind)
    mind.engine.forget(Forget(scope="anna", turns=tuple(turns)))
    assert isinstance(mind.llm, ScriptedLLM)
    mind.llm.prompts.clear()
    for _ in range(2):
        assert mind.think() == 0
        mind.engine.upkeep.seal("anna")
    assert mind.llm.prompts, "what is left is looked at anew"
    assert not any(SECRET in prompt.system + prompt.user for prompt in mind.llm.prompts)
    assert not layers(mind) and residue(mind.path, SECRET) == []
    assert layers(mind, "Berlin"), "what else was said is there"


def test_forget_everything_a_task_that_waits_about_it_goes_too(mind):
    """What was planned, failed, or begun before the forgetting writes nothing after it."""
    turns = [turn.id for turn in mind.talk("secret", TOLD) if SECRET in turn.text]
    mind.think(ScriptedLLM(lambda prompt: f"no JSON, {SECRET}"), days=0.1)
    runs, tasks = Look(mind.engine).runs(), Look(mind.engine).tasks()
    assert runs and SECRET not in repr((runs, tasks))
    mind.engine.forget(Forget(scope="anna", turns=tuple(turns)))
    mind.think()
    assert not layers(mind) and residue(mind.path, SECRET) == []


@pytest.mark.parametrize("llm", [None, ScriptedLLM(parrot)], ids=["rules", "llm"])
def test_forget_everything_everything_of_a_scope(mind, llm):
    mind.llm = llm
    talked(mind)
    assert mind.engine.forget(Forget(scope="anna", everything=True)).erased
    mind.think()
    assert residue(mind.path, SECRET) == [] and residue(mind.path, "Berlin") == []
