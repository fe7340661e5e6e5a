"""What must not leave this machine: not by a prompt, and not by what was made of it."""

import re
from collections import Counter

import pytest
from msgspec.structs import replace

from slowcat_memory.core import disclosure
from slowcat_memory.records import Memory, WriteBatch
from slowcat_memory.testing import ScriptedLLM
from tests.support.layers import ASK, ELSE, LAYERS, SECRET, edit, layers, tell, told
from tests.support.parroting_llm import ASKING, Mind, Remote, ledger, parrot

MADE = LAYERS - {"context", "key"}  # which are found by, and never offered


def open_ones(mind: Mind) -> Counter[str]:
    """Count what holds the secret and may go to any LLM, by what it is."""
    with mind.engine.store.snapshot() as snapshot:
        every = [one for one in snapshot.memories("anna") if not one.local_only]
        return Counter([one.kind for one in every if SECRET.casefold() in repr(one).casefold()])


def is_told(mind: Mind) -> bool:
    """Whether a conversation with an LLM on another machine is told the secret."""
    return SECRET.casefold() in repr([*told(mind, local=False).values()]).casefold()


@pytest.mark.parametrize("llm", [None, ScriptedLLM(parrot)], ids=["rules", "llm"])
def test_kept_here_what_is_made_of_it_stays_here_too(mind, llm):
    tell(mind, local_only=True)
    assert mind.think(llm, days=0.1) == 0 and mind.think(llm) == 0
    held = layers(mind)
    if llm is not None:
        assert held["reading"] and held["fact"]
        missing = MADE - held.keys()
        assert missing <= {"block", "episode", "icebreaker"}, "those are made of open turns alone"
    assert held["fact"] and held["summary/session"] and held["summary/window"]
    assert not open_ones(mind)
    assert not is_told(mind)
    assert SECRET in repr(mind.engine.search(ASK[0], "anna", 20, local=True).hits)


def test_kept_here_what_was_made_before_somebody_said_so(mind):
    turns = tell(mind)
    llm = ScriptedLLM(parrot)
    mind.think(llm, days=0.1)
    mind.think(llm)
    assert MADE <= layers(mind).keys()
    assert is_told(mind)
    edit(mind, turns, local_only=True)
    assert not open_ones(mind) and not is_told(mind)
    edit(mind, turns, local_only=False)
    assert MADE & {"fact", "block"} and open_ones(mind)


def test_kept_here_a_rule_that_is_left_out_is_seen(mind, monkeypatch):
    """The negative control: where nothing is inherited, what is made of such turns is open."""
    monkeypatch.setattr(disclosure, "origins", lambda memory: iter(()))
    tell(mind, local_only=True)
    mind.think(ScriptedLLM(parrot))
    assert open_ones(mind)


# ------------------------------------------------------------------- prompts


def prompts_of(mind: Mind, llm: ScriptedLLM) -> dict[str, str]:
    """Have every job ask, first by rules, then after the LLM came; what each was told."""
    ledger(mind)
    mind.think(None, days=0.1)
    mind.think(llm, days=0.1)
    open_matter = "I have an appointment at the bank on 13 May."
    mind.talk("later", ["My dog Max likes the beach in Lisbon a lot.", open_matter, *ELSE, *ELSE])
    ledger(mind)
    mind.think(llm)
    found = dict[str, str]()
    for prompt in llm.prompts:
        found[prompt.job] = found.get(prompt.job, "") + prompt.system + prompt.user
    return found


@pytest.mark.parametrize("remote", [True, False])
def test_kept_here_no_prompt_for_another_machine_holds_it(mind, remote):
    tell(mind, local_only=True)
    person = mind.engine.remember(f"{SECRET} is my bank", "anna", local_only=True)
    mind.engine.store.apply("person", WriteBatch(memories=(persona(person), fact(person)))).wait()
    asked = prompts_of(mind, (Remote if remote else ScriptedLLM)(parrot))
    assert not ASKING - asked.keys(), "a job that asked nothing shows nothing"
    leaking = {job for job, text in asked.items() if SECRET.casefold() in text.casefold()}
    assert leaking == set() if remote else {"facts", "session_summary"} <= leaking


def persona(person: Memory) -> Memory:
    """A block that a person keeps to this machine."""
    return replace(person, id="block/persona/1", kind="block/persona", local_only=True)


def fact(person: Memory) -> Memory:
    """A fact that a person keeps to this machine."""
    return replace(person, id="fact/x", kind="fact/person", local_only=True)


# ------------------------------------------------------------------- off the record, and asides


@pytest.mark.parametrize("llm", [None, ScriptedLLM(parrot)], ids=["rules", "llm"])
def test_kept_here_no_job_sees_what_was_said_to_the_memory(mind, llm):
    """Asides stay in the log, where ``forget`` finds them, and in nothing else."""
    asides = [f"Remember that {SECRET} is my dentist.", f"I have noted {SECRET}."]
    mind.talk("before", ELSE[:2])
    mind.talk("aside", [ELSE[2], (asides[0], asides[1]), ELSE[3]], aside=asides)
    mind.talk("after", ["My dog Max likes the beach in Lisbon."])
    asking = llm or ScriptedLLM(parrot)
    asking.prompts.clear()
    asked = prompts_of(mind, asking) if llm else {}
    if llm is None:
        mind.think(None, days=0.1)
        mind.think(None)
    assert not llm or not ASKING - asked.keys()
    assert {job for job, text in asked.items() if SECRET in text} == set()
    assert not layers(mind)
    assert not is_told(mind)


def test_kept_here_an_aside_that_is_none_is_seen_everywhere(mind):
    """The negative control: the same words, not said to the memory."""
    mind.talk("aside", [ELSE[2], (f"I know that {SECRET} is my dentist.", f"I see {SECRET}.")])
    asked = prompts_of(mind, ScriptedLLM(parrot))
    seeing = {job for job, text in asked.items() if re.search(SECRET, text)}
    assert len(seeing) >= 7 and len(layers(mind)) >= 8
